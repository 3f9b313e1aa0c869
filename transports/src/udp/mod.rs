//! Encrypted UDP under tokio.
//!
//! | module | what it does |
//! |---|---|
//! | [`Udp`], [`Settings`] | the transport that a [`Node`](greenroom::net::Node) is started with |
//! | [`socket`] | sends and receives datagrams in batches, with the kernel's segmentation where it has it |

mod carriers;
mod datagrams;
mod link;
mod lookups;
mod names;
#[cfg(test)]
mod paired;
mod settings;
pub mod socket;
mod transport;
#[cfg(test)]
mod worlds;

pub use carriers::CarrierChanges;
pub use datagrams::Datagrams;
pub use settings::Settings;
pub use transport::{BindError, Udp};
