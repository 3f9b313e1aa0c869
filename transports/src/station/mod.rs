//! All links of one node, without I/O: associations, the lane of each, and who waits at them.
//!
//! ```text
//!  node: submit, receive, connect, close          wakers: reader, writer, acceptor, driver
//!              |                                            ^
//!            lines: one lane each  <--- opened texts --- endpoint <--- datagrams: handle
//!              |                                            |
//!              +---- packets, sealed ----- poll_transmit ---+---> datagrams
//! ```
//!
//! The carrier gives datagrams and the time, and asks for datagrams and the next deadline. What holds:
//! 1. A line ends before there is another one to its node. Whoever receives from it hears that as its last word. [LINK-76]
//! 2. A line that its owner closed says so to the other node after everything that was submitted has arrived.
//! 3. Nobody waits for ever: whatever ends a line wakes those who wait at it.

mod connecting;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
#[cfg(any(test, fuzzing))]
mod harness;
mod line;
mod meets;
mod outgoing;
mod paired;
mod pairing;
mod rest;
#[cfg(test)]
mod tests;
mod wakes;
mod word;

pub use connecting::{Attempt, By, PLACES_MAX};
pub use outgoing::Outgoing;
pub use paired::{Carrier, Change};
pub use pairing::{Want, Why};
pub use wakes::{Few, Wakes};
pub use word::Terms;

use crate::link::{Config, Lane, Time};
use crate::secure::audit::{Audit, SendFailure};
use crate::secure::endpoint::{Arrival, AssociationId, Endpoint, Event, Received};
use crate::secure::hello::Hello;
use crate::secure::key::PublicKey;
use crate::secure::reject::Reject;
use crate::secure::wire::OVERHEAD_BYTES;
use connecting::{Connecting, ITSELF, NOBODY};
use greenroom::net::{FrameBuf, Identity, Incarnation, LinkEnd, Order, SubmitError};
use line::Line;
use paired::Pairs;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll, Waker};

/// The lane of an association that is used.
const LANE: u8 = 0;

/// Bytes inside a packet to a node on the same machine, where nothing is lost because it is long.
const LOCAL_PACKET_LEN: usize = 16 << 10;

/// The longest datagram of a node: what goes to one on the same machine.
pub const DATAGRAM_BYTES_MAX: u16 = (LOCAL_PACKET_LEN + OVERHEAD_BYTES) as u16;

/// See the [module](self).
pub struct Station {
    endpoint: Endpoint,
    /// What each lane is like, but for what its path decides.
    lane: Config,
    now: Time,
    lines: BTreeMap<AssociationId, Line>,
    /// Lines that may have something to send, or another deadline than before.
    touched: VecDeque<AssociationId>,
    deadlines: BTreeSet<(Time, AssociationId)>,
    connecting: Connecting,
    pairs: Pairs,
    /// Lines that are up, until the node takes them.
    fresh: VecDeque<AssociationId>,
    acceptor: Option<Waker>,
    /// Who sends and receives, unless it has been told that there is something to do.
    driver: Option<Waker>,
    /// Whether the driver was told while it was at work.
    is_told: bool,
    /// Those to be woken, outside of the lock that the station is under.
    wakes: Wakes,
    is_closed: bool,
}

impl Station {
    /// A station of an endpoint that no datagram has gone through, with lanes of that kind.
    #[must_use]
    pub fn new(endpoint: Endpoint, mut lane: Config) -> Self {
        // What is on its way to an actor is counted by the node, which knows its mailboxes.
        lane.mailbox_messages_start = None;
        Self {
            endpoint,
            lane,
            now: Time::default(),
            lines: BTreeMap::new(),
            touched: VecDeque::new(),
            deadlines: BTreeSet::new(),
            connecting: Connecting::default(),
            pairs: Pairs::default(),
            fresh: VecDeque::new(),
            acceptor: None,
            driver: None,
            is_told: false,
            wakes: Wakes::default(),
            is_closed: false,
        }
    }

    /// Who this node is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        identity(&self.endpoint.public(), self.endpoint.incarnation())
    }

    /// What happened that bears on security.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        self.endpoint.audit()
    }

    /// What was to go there is lost, as the kernel did not take it.
    pub fn fail_to_send(&mut self, now: Time, to: SocketAddr, why: SendFailure) {
        self.endpoint.fail_to_send(now, to, why);
    }

    /// Lets a node connect, and be connected to.
    pub fn allow(&mut self, peer: PublicKey) {
        self.endpoint.allow(peer);
    }

    /// Ends what there is with a node, and allows nothing more.
    pub fn forbid(&mut self, peer: &PublicKey) {
        self.endpoint.forbid(self.now, peer);
        self.connecting.forbidden(peer, &mut self.wakes);
        self.take_events();
        self.tell_driver();
    }

    /// Renews the keys of the association with a node; `false` if there is none.
    pub fn rekey(&mut self, peer: &PublicKey) -> bool {
        let line = self.lines.iter().find(|(_, line)| line.key == *peer && line.is_open());
        let Some(id) = line.map(|(id, _)| *id) else { return false };
        self.tell_driver();
        self.endpoint.rekey(self.now, id).is_ok()
    }

    /// Says what time it is, before it is told what anybody wants.
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// The driver begins a turn, in which it sees to everything: nobody need wake it before it
    /// [says so again](Station::set_driver).
    pub fn begin_turn(&mut self, now: Time) {
        self.set_now(now);
        self.driver = None;
    }

    /// Takes a datagram, and opens it in place.
    pub fn handle(&mut self, now: Time, arrival: impl Into<Arrival>, datagram: &mut [u8]) {
        self.now = now;
        let arrival = arrival.into();
        // [RDMA-42]
        if self.uses_pairs() && paired::is_by_pair(datagram) {
            return self.endpoint.reject(now, arrival.from, Reject::Lane);
        }
        let received = self.endpoint.handle(now, arrival, datagram);
        self.take_events();
        let Received::Text { association, lane, number, text } = received else { return };
        let Some(inside) = datagram.get(text) else { return };
        if lane != LANE {
            return self.on_word(now, association, lane, inside);
        }
        let association = crate::planted!("station-other-line": association =>
            self.lines.keys().next().copied().unwrap_or(association));
        let Some(line) = self.lines.get_mut(&association) else { return };
        line.lane.on_packet(now, number, inside, arrival.ecn);
        self.touch(association);
    }

    /// Does what is due. The carrier then asks for datagrams.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        self.endpoint.handle_timeout(now);
        self.take_events();
        self.take_turns();
        while let Some((_, id)) = self.deadlines.first().copied().filter(|(due, _)| *due <= now) {
            self.deadlines.pop_first();
            if let Some(line) = self.lines.get_mut(&id) {
                line.deadline = None;
                line.lane.on_timeout(now);
                self.on_pair_timeout(now, id);
                self.touch(id);
            }
        }
        for at in 0..self.touched.len() {
            self.settle(self.touched[at]);
        }
        self.settle_paired();
    }

    /// When [`Station::handle_timeout`] is to be called.
    #[must_use]
    pub fn timeout(&self) -> Option<Time> {
        if self.touched.is_empty() { self.deadline() } else { Some(self.now) }
    }

    /// As [`Station::timeout`], while no datagram can be sent.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if !self.pairs.touched.is_empty() {
            return Some(self.now);
        }
        let line = self.deadlines.first().map(|(due, _)| *due);
        let times = [
            self.endpoint.poll_timeout(),
            self.connecting.timeout(self.endpoint.contacts_max()),
            line,
        ];
        times.into_iter().flatten().min()
    }

    /// The next datagrams to send, put into `out`; `false` for none by now. At most `segments` of them, for one
    /// node, of one length but the last.
    pub fn poll_transmit(&mut self, now: Time, segments: usize, out: &mut Outgoing) -> bool {
        self.now = now;
        if let Some(transmit) = self.endpoint.poll_transmit() {
            out.set(transmit.to, transmit.packet);
            out.set_source(transmit.source);
            return true;
        }
        if self.poll_word(now, out) {
            return true;
        }
        while let Some(id) = self.touched.front().copied() {
            let endpoint = &mut self.endpoint;
            let Some(line) = self.lines.get_mut(&id) else {
                self.touched.pop_front();
                continue;
            };
            let ecn = line.lane.ecn();
            if out.fill(now, &mut line.lane, &mut line.alone, segments, |number, packet| {
                endpoint.seal(now, id, LANE, number, packet).ok()
            }) {
                out.set_source(endpoint.source(id));
                out.set_ecn(ecn);
                // The others have their turn before it has another one.
                self.touched.rotate_left(1);
                return true;
            }
            self.touched.pop_front();
            self.rest(id);
        }
        false
    }

    /// Whether there is nothing left to do, after [`Station::close`].
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_closed && self.lines.values().all(Line::is_finished)
    }

    /// Makes and accepts no more links. Those that there are stay.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.connecting.fail_all(&mut self.wakes);
        for id in std::mem::take(&mut self.fresh) {
            self.disown(id);
        }
        self.wakes.wakers.extend(self.acceptor.take());
        self.wake_watchers();
        self.tell_driver();
    }

    /// Ends all links, as if now were the last moment for it: the carrier sends once more what there is to send.
    /// Nodes that have got everything hear that their link is closed, and others that it is lost.
    pub fn depart(&mut self) {
        self.close();
        let ids: Vec<_> = self.lines.keys().copied().collect();
        for id in crate::planted!("station-departs-silently": ids => Vec::new()) {
            if let Some(line) = self.lines.get_mut(&id) {
                line.close_by(self.now, &mut self.wakes.wakers);
            }
            // A queue pair ends with this node, and what is on its way by it may be lost.
            self.go_by_udp(self.now, id);
            self.touch(id);
        }
    }

    /// All links are lost, because the carrier is broken.
    pub fn fail(&mut self) {
        self.close();
        let ids: Vec<_> = self.lines.keys().copied().collect();
        for id in ids {
            self.lose(id);
        }
    }

    /// Has the driver woken as soon as there is something to do for it; at once, if there is.
    pub fn set_driver(&mut self, driver: &Waker) {
        if self.touched.is_empty() {
            self.set_driver_while_full(driver);
        } else {
            self.is_told = false;
            self.wakes.driver = Some(driver.clone());
        }
    }

    /// As [`Station::set_driver`], while no datagram can be sent.
    pub fn set_driver_while_full(&mut self, driver: &Waker) {
        if std::mem::take(&mut self.is_told) || !self.pairs.touched.is_empty() {
            self.wakes.driver = Some(driver.clone());
        } else {
            self.driver = Some(driver.clone());
        }
    }

    /// Those to be woken, put into `wakes`.
    pub fn take_wakes(&mut self, wakes: &mut Wakes) {
        wakes.append(&mut self.wakes);
    }

    /// A few of those to be woken, and without memory for more; `None` if nobody is left.
    pub fn take_few_wakes(&mut self) -> Option<Few> {
        self.wakes.take_few()
    }

    /// The next line that is up, and whose it is; `None` when there will be none any more.
    pub fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Option<(AssociationId, Identity)>> {
        while let Some(id) = self.fresh.pop_front() {
            let Some(line) = self.lines.get_mut(&id) else { continue };
            line.is_owned = true;
            return Poll::Ready(Some((id, line.peer)));
        }
        if self.is_closed {
            return Poll::Ready(None);
        }
        self.acceptor = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Takes a frame on its way by a line.
    ///
    /// # Errors
    /// [`SubmitError`]; it is not on its way then.
    pub fn submit(
        &mut self,
        id: AssociationId,
        order: Order,
        frame: &[u8],
    ) -> Result<(), SubmitError> {
        let line = self.lines.get_mut(&id).ok_or(SubmitError::Ended)?;
        line.submit(order, frame)?;
        self.touch(id);
        Ok(())
    }

    /// Ready when a frame that was refused may find room now, or the line has ended.
    pub fn poll_room(&mut self, id: AssociationId, cx: &mut Context<'_>) -> Poll<()> {
        self.lines.get_mut(&id).map_or(Poll::Ready(()), |line| line.poll_room(cx))
    }

    /// The next frame of a line, in place of what `frame` holds, or how the line ended.
    pub fn poll_receive(
        &mut self,
        id: AssociationId,
        cx: &mut Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        let now = self.now;
        let Some(line) = self.lines.get_mut(&id) else { return Poll::Ready(Err(LinkEnd::Lost)) };
        let received = line.poll_receive(now, cx, frame);
        if received.is_pending() && line.lane.has_credit_to_give() {
            self.touch(id);
        }
        received
    }

    /// How many of the frames submitted first to a line have arrived for certain.
    #[must_use]
    pub fn arrived(&self, id: AssociationId) -> u64 {
        self.lines.get(&id).map_or(0, |line| line.lane.arrived())
    }

    /// Ends a line in order. Nothing more is received from it.
    pub fn close_line(&mut self, id: AssociationId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.close(self.now, &mut self.wakes.wakers);
        self.touch(id);
    }

    /// The owner of a line is gone.
    pub fn disown(&mut self, id: AssociationId) {
        self.close_line(id);
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.is_owned = false;
        self.touch(id);
    }

    fn take_events(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Up { association, peer, hello, address, lanes } => {
                    self.up(association, peer, &hello, address);
                    self.offer_pair(association, lanes, &hello, address.ip());
                }
                Event::Moved { association, .. } => self.on_moved(association),
                Event::Down { association, .. } => self.lose(association),
                Event::Unreachable { peer } => {
                    self.connecting.unreachable(&peer, &mut self.wakes);
                }
                Event::Learned { peer, address } => {
                    self.connecting.learned(peer, address, &mut self.wakes);
                    self.begin(&peer);
                    self.meet();
                }
                Event::Nobody { address } => {
                    self.connecting.nobody(address, NOBODY, &mut self.wakes);
                    self.meet();
                }
                Event::Itself { address } => {
                    self.connecting.nobody(address, ITSELF, &mut self.wakes);
                    self.meet();
                }
                Event::Rekeyed { .. } => {}
            }
        }
    }

    fn up(&mut self, id: AssociationId, key: PublicKey, hello: &Hello, address: SocketAddr) {
        let lane = self.endpoint.seed().ok().and_then(|seed| {
            let config = self.lane_config(hello, address.ip(), seed);
            Lane::new(self.now, config.asking_later(self.endpoint.public() > key)).ok()
        });
        let Some(lane) = lane.filter(|_| !self.is_closed) else {
            self.endpoint.close(self.now, id);
            return;
        };
        let peer = identity(&key, hello.incarnation);
        self.lines.insert(id, Line::new(key, peer, lane));
        self.touch(id);
        self.fresh.push_back(id);
        self.wakes.wakers.extend(self.acceptor.take());
        self.connecting.connected(&key, peer, &mut self.wakes);
    }

    /// What the lane to that node is like, whose packets are no longer than it takes.
    fn lane_config(&self, hello: &Hello, at: IpAddr, seed: u64) -> Config {
        let longest = usize::from(hello.datagram_bytes_max).saturating_sub(OVERHEAD_BYTES);
        let mut config = Config { seed, ..self.lane.clone() };
        config.flight_bytes_max = Some(hello.window_bytes);
        if at.to_canonical().is_loopback() {
            config = local(&config);
        }
        config.packet_len_max = config.packet_len_max.min(longest).max(config.packet_len_base);
        config.packet_len_start = config.packet_len_start.min(config.packet_len_max);
        config
    }

    /// A line has lost its keys, and never gets others: there may only be another line. [LINK-75]
    fn lose(&mut self, id: AssociationId) {
        // At once, for there may be another line to its node before this one is gone.
        self.go_by_udp(self.now, id);
        self.drop_pair(id);
        if let Some(line) = self.lines.get_mut(&id) {
            line.lane.on_reset();
            self.touch(id);
            self.settle(id);
        }
    }
}

impl fmt::Debug for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Station");
        shown.field("endpoint", &self.endpoint).field("lines", &self.lines.len());
        shown.finish_non_exhaustive()
    }
}

/// What a lane to a node on the same machine is like.
pub(crate) fn local(config: &Config) -> Config {
    let (packet_len_start, packet_len_max) = (LOCAL_PACKET_LEN, LOCAL_PACKET_LEN);
    Config { packet_len_start, packet_len_max, ..config.clone() }
}

/// The node that has that key, in that run of its program.
fn identity(key: &PublicKey, incarnation: u64) -> Identity {
    Identity {
        node: key.node(),
        incarnation: Incarnation(incarnation & crate::secure::endpoint::RUN),
    }
}
