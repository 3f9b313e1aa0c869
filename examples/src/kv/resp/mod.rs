//! The Redis protocol: requests read from a buffer, replies written into one.
//!
//! Requests are cut out of the read buffer by [`request`], without copying: a command is a list of [`Span`]s of
//! that buffer. Replies are appended to a plain `Vec<u8>` by [`Reply`].
//!
//! Why requests are not read through a parser crate: `resp-rs`, the best kept of those looked at, parses a *complete*
//! frame well, but starts again at the first byte after every read (so an array that arrives slowly costs quadratic
//! time), allocates one vector per command and counts one reference per argument. The guard that would have to stand
//! in front of it - Redis's limits, Redis's error texts, "is it complete yet?" - already knows where each argument
//! lies, so nothing is left for the crate to do. It reads the *replies* in the demo client and in the tests, and a
//! property test holds the two against each other.

pub(crate) mod inline;
pub(crate) mod number;
pub(crate) mod reply;
pub(crate) mod request;

#[cfg(test)]
mod tests;

pub(crate) use number::{parse_integer, push_integer};
pub(crate) use reply::{Proto, Reply};
#[cfg(test)]
pub(crate) use request::ProtocolError;
pub(crate) use request::{Move, Request, Requests, Span};
