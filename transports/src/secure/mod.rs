//! What UDP and RDMA share to be private: the cipher, keys, handshakes, replay windows, and the endpoint
//! that holds them together, all without I/O.
//!
//! | module | what it does |
//! |---|---|
//! | [`aead`] | ChaCha20-Poly1305 in place, by one of two libraries |
//! | [`packet`] | seals and opens the data packets of one lane |
//! | [`replay`] | which packet numbers have come |
//! | [`wire`] | the packets as bytes |
//! | [`endpoint`] | handshakes, associations, roaming: datagrams and time in, datagrams and events out |
//! | [`limit`] | token buckets |
//! | [`audit`] | counters of what was rejected, and a ring of what happened |
//!
//! The format is in the book, `spec/udp.md`; numbers in brackets name its requirements.

pub mod aead;
pub mod audit;
mod contact;
pub(crate) mod digest;
pub mod endpoint;
pub mod entropy;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod guard;
mod handshake;
pub mod hello;
pub mod identity;
#[cfg(feature = "pq")]
mod kem;
pub mod kem_sizes;
pub mod key;
pub mod limit;
mod noise;
pub mod packet;
pub mod reject;
pub mod replay;
#[cfg(test)]
mod vectors;
pub mod wire;
