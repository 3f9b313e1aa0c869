//! Queue pairs as a carrier: messages sent and received by an RDMA device, or by one that is simulated.
//!
//! | module | what it does |
//! |---|---|
//! | [`carrier`] | those of a node: a device that comes and goes, and the links that use it |
//! | [`connected`] | the connections of a worker (RC): packets once and in order, credit, slots used in place |
//! | `doctor` | what keeps this machine's devices from being used, and how it is mended: with the feature `rdma` |
//! | `ib` | this machine's devices, by libibverbs: with the feature `rdma`, on Linux |
//! | [`datagrams`] | one queue pair of a worker for all peers (UD): datagrams that may be lost |
//! | [`rpc`] | requests and replies in single packets: handled at most once, without a timer for each |
//! | [`sim`] | devices that are simulated, from a seed and on virtual time |
//! | [`verbs`] | what is asked of a device: memory, queue pairs, completions; no pointer and no `unsafe` |
//!
//! Only SEND and RECV are used. No peer can read or write this node's memory: no memory is registered and
//! no queue pair is made with a right to that.

pub mod carrier;
pub mod connected;
mod credit;
pub mod datagrams;
#[cfg(all(feature = "rdma", target_os = "linux", target_pointer_width = "64"))]
pub mod doctor;
mod ended;
#[cfg(all(feature = "rdma", target_os = "linux", target_pointer_width = "64"))]
pub mod ib;
mod idle;
mod inline;
#[cfg(all(feature = "rdma", target_os = "linux", target_pointer_width = "64"))]
mod pick;
mod pool;
pub mod rpc;
mod sends;
mod settings;
pub mod sim;
pub mod verbs;

pub use credit::BadCredit;
pub use ended::Ended;
pub use idle::{Activity, Idle, Next};
pub use sends::SendError;
pub use settings::Rdma;
