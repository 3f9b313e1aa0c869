//! The secure endpoint on a real socket, under tokio.
//!
//! | module | what it does |
//! |---|---|
//! | [`socket`] | sends and receives datagrams in batches, with the kernel's segmentation where it has it |
//! | [`node`] | an [`Endpoint`](crate::secure::endpoint::Endpoint) with a socket and a clock |

pub mod node;
pub mod socket;
