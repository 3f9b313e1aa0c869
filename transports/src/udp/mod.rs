//! Encrypted UDP under tokio.
//!
//! | module | what it does |
//! |---|---|
//! | [`Udp`], [`Settings`] | the transport that a [`Node`](greenroom::net::Node) is started with |
//! | [`socket`] | sends and receives datagrams in batches, with the kernel's segmentation where it has it |
//! | [`node`] | an [`Endpoint`](crate::secure::endpoint::Endpoint) with a socket and a clock |

mod datagrams;
pub mod node;
mod settings;
pub mod socket;
mod transport;

pub use datagrams::Datagrams;
pub use settings::Settings;
pub use transport::{BindError, Udp};
