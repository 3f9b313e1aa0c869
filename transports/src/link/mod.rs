//! The reliability engine: what makes datagrams that may be lost into messages that are not.
//!
//! One [`Lane`] is one direction-pair of an association between two nodes, owned by one worker at each
//! end. It has no socket, no clock, no thread and no key: the carrier opens and seals packets, and says
//! what time it is.
//!
//! ```text
//!   node    send ->  credit, order  ->  frames  -> poll_transmit -> carrier seals and sends
//!   node  <- poll_message <- order, dedup <- frames <- on_packet <- carrier receives and opens
//!                         timeout, on_timeout, poll_event
//! ```
//!
//! What holds, whatever the carrier does with packets (the numbers are those of `book/src/spec/link.md`):
//! 1. A message is delivered at most once, and as it was sent.
//! 2. Messages of one pair of sender and receiver are delivered in the order in which they were taken, and
//!    without holes. A lost message holds up its own pair alone.
//! 3. Memory is bounded: by what this end granted for what comes, by what the peer granted for
//!    what leaves.
//! 4. No input makes it panic. What no honest peer would send ends the lane, with the reason.
//!
//! | part | file |
//! |---|---|
//! | bytes and frames | `wire`, `frame`, `ack`, `ranges` |
//! | loss (RFC 9002) | `sent`, `received`, `recovery`, `rtt` |
//! | speed (RFC 9438) and size (RFC 8899) of packets | `congestion`, `cubic`, `pacer`, `mtu` |
//! | messages | `outbox`, `pair`, `store`, `inbox`, `payload`, `reassembly` |
//! | credit | `credit`, `mailbox` |
//! | life and death | `liveness`, `close` |
//!
//! It does not encrypt, reject replays, find peers or serialize: that is the carrier's and the node's.

mod ack;
mod close;
mod config;
mod congestion;
mod credit;
mod cubic;
mod envelope;
mod frame;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod inbox;
mod lane;
mod liveness;
mod mailbox;
mod marking;
mod mtu;
mod outbox;
mod pacer;
mod pair;
mod payload;
mod pool;
mod random;
mod ranges;
mod reassembly;
mod received;
mod recovery;
mod rtt;
mod sent;
mod spans;
mod store;
mod time;
mod wire;

pub use close::{CloseReason, End};
pub use config::{Config, ConfigError};
pub use congestion::{Arrival, Controller};
pub use cubic::Cubic;
pub use envelope::{Address, Class, Envelope, Kind};
pub use frame::FrameError;
pub use lane::Transmit;
pub use lane::{Counts, Delivery, Event, Full, Lane, Receipt, SendError};
pub use outbox::Fate;
pub use payload::Lend;
pub(crate) use payload::is_worth_lending;
pub(crate) use random::Random;
pub use received::Ecn;
pub use time::Time;
