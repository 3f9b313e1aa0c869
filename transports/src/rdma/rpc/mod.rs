//! Requests and replies in single packets, over a carrier that may lose them: each request is handled at
//! most once, and each call has exactly one outcome.
//!
//! A *session* is between one client and one server. It has a fixed number of request slots, a power of two;
//! a request's number ends in its slot, so that both ends find it by a mask. The client alone keeps time: it
//! repeats what is not answered, and the server answers what it is asked. In the manner of eRPC (Kalia,
//! Kaminsky, Andersen, NSDI 2019), without its faults:
//! 1. A number is handled once. The server remembers the last number of each slot, and its reply until the
//!    slot's next request, which the client only sends when it needs the reply no more. [RDMA-32]
//! 2. Requests are handed in as they come, first in, first out.
//! 3. What is repeated is copied into new memory of the device, so nothing that it may still read changes.
//! 4. No timer for a request: sessions are looked through ten times in the time after which one repeats.
//!    [RDMA-34]
//! 5. Congestion is found by round trips (Timely). While they are short and the rate is at its highest,
//!    nothing is computed and nothing is paced. A round trip lasts until the reply comes, the time of the handler included: one
//!    that is slow looks like a network that is. [RDMA-35]
//! 6. Packets are sealed, unless both ends are told to trust each other and the network. [RDMA-36]
//!
//! There is no I/O and no clock here: every call is told the time, and everything leaves in
//! [`Rpc::on_turn`], through a [`Carrier`].
//!
//! ```text
//!   turn: read the clock once -> poll the carrier -> on_packet -> reply, call -> on_turn -> flush the carrier
//! ```

mod client;
mod seal;
mod server;
mod timely;
mod wire;

pub use seal::Protection;
pub use wire::HEADER_BYTES;

use super::sends::SendError;
use crate::link::Time;
use crate::secure::aead::TAG_BYTES;
use client::Client;
use server::{Server, Taken};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Debug;
use std::time::Duration;
use wire::{Header, Kind};

/// Sends packets, without a promise that they arrive. Each comes whole or not at all, and from whoever is said to have sent it,
/// if everybody who can send there is honest: sessions that are not sealed go by that alone.
pub trait Carrier {
    /// One that it sends to.
    type Peer: Copy + Eq + Debug;

    /// Sends the packet that `fill` writes; it returns how many bytes that is.
    ///
    /// # Errors
    /// There is no room, and `fill` was not asked; or there is no way to the peer any more.
    fn send(
        &mut self,
        to: Self::Peer,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, SendError>;
}

/// The limits of an [`Rpc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Requests of one session at a time: 64. A power of two.
    pub slots: u16,
    /// Bytes of a request or a reply: 1024 less header and tag, which every path of RoCE takes.
    pub message_bytes_max: usize,
    /// After how long a request is repeated, then after twice as long: 5 ms.
    pub repeat_after: Duration,
    /// How often a request is repeated before it is given up: 7.
    pub repeats_max: u8,
    /// The highest rate of a session, in bytes a second: 12.5 GB, which is 100 Gbit.
    pub rate_max: u64,
    /// Round trips below this mean no congestion: 50 µs. The time of the peer's handler counts, too: where handlers take longer,
    /// this and the next are to be larger.
    pub rtt_low: Duration,
    /// Round trips above this mean congestion, whatever they were before: 1 ms.
    pub rtt_high: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            slots: 64,
            message_bytes_max: 1024 - HEADER_BYTES - TAG_BYTES,
            repeat_after: Duration::from_millis(5),
            repeats_max: 7,
            rate_max: 12_500_000_000,
            rtt_low: Duration::from_micros(50),
            rtt_high: Duration::from_millis(1),
        }
    }
}

/// Why there is no such session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The number of slots is no power of two up to 32,768.
    #[error("the slots of a session must be a power of two, at most 32768")]
    Slots,
    /// Something is zero, or round trips do not ascend.
    #[error("a limit is zero, or the low round trip is not below the high one")]
    Range,
}

/// The number of a session at one end. It is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

/// A request that was handed in, to reply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    session: u32,
    number: u64,
}

/// Why a call is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// All slots of the session are in use, or its pace does not let the next request go yet: [`Rpc::timeout`] says when.
    #[error("there is no room for now")]
    Full,
    /// There is no such session, or it was closed.
    #[error("there is no such session")]
    Closed,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A peer asks. Reply by [`Rpc::reply`], now or later.
    Request {
        /// What to reply to.
        request: RequestId,
        /// What is asked.
        payload: &'a [u8],
    },
    /// The outcome of a call: its reply.
    Reply {
        /// What the caller gave.
        user: u64,
        /// What is replied.
        payload: &'a [u8],
    },
    /// The outcome of a call: no reply came. It may have been handled.
    Unanswered {
        /// What the caller gave.
        user: u64,
    },
}

/// How often something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests sent again.
    pub repeated: u64,
    /// Requests that came again and were not handled again.
    pub duplicates: u64,
    /// Replies that nobody waited for.
    pub late: u64,
    /// Packets that no honest peer sends, or for no session.
    pub rejected: u64,
    /// Round trips that changed a rate.
    pub rate_changes: u64,
}

/// What leaves next.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    Request(u32, u16),
    Reply(u32, u16),
}

/// The sessions of one worker, as client and as server. No call blocks; only `open` and `accept` allocate, and sessions that
/// begin to be slowed down.
#[derive(Debug)]
pub struct Rpc<P> {
    config: Config,
    /// By the numbers of the sessions. One that was closed leaves no more than its number.
    clients: Vec<Option<Box<Client<P>>>>,
    servers: Vec<Option<Box<Server<P>>>>,
    /// The numbers of the clients' ends that are open.
    open: BTreeSet<u32>,
    /// Of these, those that are slowed down.
    slowed: BTreeSet<u32>,
    /// Oldest first. Each slot is in it at most once.
    leaving: VecDeque<Leaving>,
    /// When sessions are looked through next.
    next_scan: Time,
    /// Of the last turn.
    now: Time,
    /// Calls without an outcome.
    open_calls: u64,
    counts: Counts,
}

impl<P: Copy + Eq + Debug> Rpc<P> {
    /// Without sessions.
    ///
    /// # Errors
    /// The limits cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if !config.slots.is_power_of_two() || config.slots > 1 << 15 {
            return Err(ConfigError::Slots);
        }
        let times = [config.repeat_after, config.rtt_low];
        let none = config.message_bytes_max == 0 || config.rate_max == 0;
        if none || times.contains(&Duration::ZERO) || config.rtt_low >= config.rtt_high {
            return Err(ConfigError::Range);
        }
        Ok(Self {
            config,
            clients: Vec::new(),
            servers: Vec::new(),
            open: BTreeSet::new(),
            slowed: BTreeSet::new(),
            leaving: VecDeque::new(),
            next_scan: Time::default(),
            now: Time::default(),
            open_calls: 0,
            counts: Counts::default(),
        })
    }

    /// Opens the client's end of a session, which [`connect`](Self::connect) completes.
    pub fn open(&mut self, peer: P, protection: Protection) -> SessionId {
        let id = session_id(self.clients.len());
        self.clients.push(Some(Box::new(Client::new(peer, protection, &self.config))));
        self.open.insert(id.0);
        id
    }

    /// Opens the server's end of the session that the client there calls `client`. Both ends have as many
    /// slots, and the same protection.
    pub fn accept(&mut self, peer: P, client: SessionId, protection: Protection) -> SessionId {
        let id = session_id(self.servers.len());
        let server = Server::new(peer, (client.0, id.0), protection, &self.config);
        self.servers.push(Some(Box::new(server)));
        id
    }

    /// The server calls its end of the session `server`: calls may be made.
    pub fn connect(&mut self, session: SessionId, server: SessionId) {
        if let Some(client) = self.client(session) {
            client.connect(session.0, server.0);
        }
    }

    fn client(&mut self, session: SessionId) -> Option<&mut Client<P>> {
        self.clients.get_mut(session.0 as usize)?.as_deref_mut()
    }

    /// Asks what `fill` writes; it returns how many bytes that is. The outcome is an [`Event`] with `user`.
    ///
    /// # Errors
    /// There is no room, or no such session; `fill` was not asked.
    pub fn call(
        &mut self,
        now: Time,
        session: SessionId,
        user: u64,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<(), CallError> {
        let client = self.client(session).ok_or(CallError::Closed)?;
        let Called { slot, is_new } = client.call(now, user, fill).ok_or(CallError::Full)?;
        self.open_calls += 1;
        if is_new {
            self.leaving.push_back(Leaving::Request(session.0, slot));
        }
        Ok(())
    }

    /// Replies what `fill` writes; it returns how many bytes that is. Says whether the client still wanted a
    /// reply: it may have given up, closed the session, or have one.
    pub fn reply(&mut self, request: RequestId, fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let server = self.servers.get_mut(request.session as usize).and_then(Option::as_mut);
        let slot = server.and_then(|server| server.reply(request.number, fill));
        if let Some(Called { slot, is_new: true }) = slot {
            self.leaving.push_back(Leaving::Reply(request.session, slot));
        }
        slot.is_some()
    }

    /// Takes in a packet of that peer's, and opens it in place. `sink` has what it means, if anything, and may call and
    /// reply.
    pub fn on_packet(
        &mut self,
        now: Time,
        from: P,
        packet: &mut [u8],
        sink: impl FnOnce(&mut Self, Event<'_>),
    ) {
        let Some(header) = Header::read(packet) else {
            self.counts.rejected += 1;
            return;
        };
        match header.kind {
            Kind::Request => self.on_request(from, &header, packet, sink),
            Kind::Reply => self.on_reply(now, from, &header, packet, sink),
        }
    }

    fn on_request(
        &mut self,
        from: P,
        header: &Header,
        packet: &mut [u8],
        sink: impl FnOnce(&mut Self, Event<'_>),
    ) {
        let server = self.servers.get_mut(header.session as usize).and_then(Option::as_mut);
        // [RDMA-31]
        let Some(server) = server.filter(|it| it.peer == from) else {
            self.counts.rejected += 1;
            return;
        };
        let Some(payload) = server.seals.open(header, packet) else {
            self.counts.rejected += 1;
            return;
        };
        match server.on_request(header.number) {
            Taken::New => {
                let request = RequestId { session: header.session, number: header.number };
                sink(self, Event::Request { request, payload });
            }
            Taken::Answered(slot) => {
                self.counts.duplicates += 1;
                self.leaving.push_back(Leaving::Reply(header.session, slot));
            }
            Taken::Duplicate => self.counts.duplicates += 1,
        }
    }

    fn on_reply(
        &mut self,
        now: Time,
        from: P,
        header: &Header,
        packet: &mut [u8],
        sink: impl FnOnce(&mut Self, Event<'_>),
    ) {
        let client = self.clients.get_mut(header.session as usize).and_then(Option::as_mut);
        let Some(client) = client.filter(|it| it.peer == from) else {
            self.counts.rejected += 1;
            return;
        };
        let Some(payload) = client.unseal(header, packet) else {
            self.counts.rejected += 1;
            return;
        };
        let Some(answered) = client.on_reply(now, header.number) else {
            self.counts.late += 1;
            return;
        };
        if answered.rate_changed {
            self.counts.rate_changes += 1;
            if client.is_slowed() {
                self.slowed.insert(header.session);
            } else {
                self.slowed.remove(&header.session);
            }
        }
        self.open_calls -= 1;
        sink(self, Event::Reply { user: answered.user, payload });
    }

    /// At the end of a turn: lets everything leave for which there is room, and looks for what has to be
    /// repeated. `sink` has the calls that are given up.
    pub fn on_turn<C: Carrier<Peer = P>>(
        &mut self,
        now: Time,
        carrier: &mut C,
        sink: impl FnMut(Event<'_>),
    ) {
        self.now = now;
        if now >= self.next_scan && self.open_calls > 0 {
            self.scan(now, sink);
        }
        while let Some(next) = self.leaving.pop_front() {
            let sent = match next {
                Leaving::Request(session, slot) => {
                    let client = self.clients.get_mut(session as usize).and_then(Option::as_mut);
                    client.map_or(Ok(()), |client| client.transmit(now, carrier, slot))
                }
                Leaving::Reply(session, slot) => {
                    let server = self.servers.get_mut(session as usize).and_then(Option::as_mut);
                    server.map_or(Ok(()), |server| server.transmit(carrier, slot))
                }
            };
            if sent == Err(SendError::Full) {
                self.leaving.push_front(next);
                return;
            }
            // Without a way to the peer nothing comes back, and time will tell.
        }
    }

    /// [RDMA-34]
    fn scan(&mut self, now: Time, mut sink: impl FnMut(Event<'_>)) {
        self.next_scan = now + self.config.repeat_after / SCANS;
        for &session in &self.open {
            let client = self.clients.get_mut(session as usize).and_then(Option::as_mut);
            let Some(client) = client.filter(|it| it.has_calls()) else { continue };
            let (leaving, counts) = (&mut self.leaving, &mut self.counts);
            self.open_calls -= client.scan(now, &mut sink, |slot| {
                counts.repeated += 1;
                leaving.push_back(Leaving::Request(session, slot));
            });
        }
    }

    /// When [`on_turn`](Self::on_turn) has something to do, if nothing else happens, or the pace of a session lets a
    /// [call](Self::call) be made that it did not let in the last turn.
    #[must_use]
    pub fn timeout(&self) -> Option<Time> {
        let scan = (self.open_calls > 0).then_some(self.next_scan);
        // [RDMA-35] Mostly no session is slowed down, and none is looked at.
        let slowed = self.slowed.iter();
        let slowed = slowed.filter_map(|&session| self.clients[session as usize].as_ref());
        let paced = slowed.filter_map(|client| client.next_after(self.now));
        paced.chain(scan).min()
    }

    /// Closes the client's end. Calls that were open end as unanswered.
    pub fn close(&mut self, session: SessionId, mut sink: impl FnMut(Event<'_>)) {
        let client = self.clients.get_mut(session.0 as usize).and_then(Option::take);
        if let Some(client) = client {
            self.open.remove(&session.0);
            self.slowed.remove(&session.0);
            self.open_calls -= client.close(&mut sink);
        }
    }

    /// Closes the server's end: requests of it are rejected, and replies to it go nowhere.
    pub fn retire(&mut self, session: SessionId) {
        if let Some(server) = self.servers.get_mut(session.0 as usize) {
            *server = None;
        }
    }

    /// How often something happened.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Calls without an outcome.
    #[must_use]
    pub const fn open_calls(&self) -> u64 {
        self.open_calls
    }
}

/// Sessions are looked through so often in the time after which a request is repeated.
const SCANS: u32 = 10;

/// A message was taken into a slot.
struct Called {
    slot: u16,
    /// Whether it does not wait to leave already.
    is_new: bool,
}

/// The number of the session that comes after so many.
fn session_id(count: usize) -> SessionId {
    SessionId(u32::try_from(count).expect("memory ends before the numbers do"))
}

#[cfg(test)]
mod tests;
