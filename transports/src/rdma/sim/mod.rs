//! RDMA devices that are simulated: every choice from one seed, on a time that the caller moves.
//!
//! [`Fabric`] is the network and the time; [`Fabric::host`] adds a machine with one device, `sim0`, and one
//! port. What devices do and users find out late is done here on purpose:
//! 1. Completions come late, in order within a queue pair and out of order between two.
//! 2. Datagrams are lost and reordered; one too long for the path, with another key, or for which nothing
//!    is posted vanishes, and its sender is told that it was sent.
//! 3. A connected queue pair waits for a peer that is not ready and gives up; it fails, at times after the
//!    peer got the message. Everything posted is then flushed, but for shared receives: of these, one is lost at
//!    times with the message that was half there, and so is what had come and was not polled when the queue pair
//!    is destroyed.
//! 4. The number of a queue pair that is destroyed is the next one's, and what nobody polled of the old one may still show, as of
//!    that one.
//! 5. A completion queue that overflows takes its queue pairs with it, and a device that is pulled away
//!    takes everything.
//!
//! Misuse gives the error that a device gives, never a panic. It belongs to one thread.

mod addresses;
#[cfg(test)]
pub(crate) mod calls;
mod events;
mod fabric;
mod handles;
mod pair;
mod queue;
mod queue_pair;
mod transfer;

pub use handles::{
    SimAddress, SimCompletionQueue, SimDevice, SimSharedReceives, SimSlot, SimVerbs,
};
pub use queue_pair::{SimConnecting, SimQueuePair};

use crate::link::Time;
use fabric::State;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// What the network and its devices do beyond what they are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weather {
    /// How long a packet travels at least.
    pub latency: Duration,
    /// And how much longer at most, drawn for each.
    pub jitter: Duration,
    /// How late a completion comes at most, drawn for each.
    pub completion_jitter: Duration,
    /// Of a thousand datagrams, how many are lost.
    pub datagram_loss_permille: u64,
    /// Of a million messages of connected queue pairs, how many are the last.
    pub failures_ppm: u64,
    /// Of a thousand messages of connected queue pairs, how many are lost each time they are sent. The device sends them
    /// again when it has waited for their answer, and all behind them wait, too.
    pub message_loss_permille: u64,
    /// Of a thousand messages of connected queue pairs that arrive, how many find their receiver not ready, whatever it has
    /// posted.
    pub not_ready_permille: u64,
    /// Bytes of a packet that passes at most; ports may say more. A longer datagram vanishes, and a message that needs one is
    /// sent again until its queue pair fails.
    pub path_mtu_bytes: u16,
    /// For how long a system looks for a machine that is nowhere when a queue pair is connected to it, before it says so.
    /// Whoever connects stands still meanwhile, unless that is done
    /// [apart](super::verbs::Device::connect_apart). Zero if it does not look.
    pub search: Duration,
}

impl Weather {
    /// Nothing goes wrong, and everything takes 1 µs.
    #[must_use]
    pub const fn fair() -> Self {
        Self {
            latency: Duration::from_micros(1),
            jitter: Duration::ZERO,
            completion_jitter: Duration::ZERO,
            datagram_loss_permille: 0,
            failures_ppm: 0,
            message_loss_permille: 0,
            not_ready_permille: 0,
            path_mtu_bytes: 4096,
            search: Duration::ZERO,
        }
    }
}

/// A network of simulated devices, and its time.
///
/// ```
/// use greenroom_transports::rdma::sim::{Fabric, Weather};
/// use greenroom_transports::rdma::verbs::{Device, Verbs};
///
/// let fabric = Fabric::new(7, Weather::fair());
/// let device = fabric.host().open("sim0", 1, 0)?;
/// assert_eq!(device.port()?.mtu_bytes, 4096);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fabric {
    state: Rc<RefCell<State>>,
}

impl Fabric {
    /// A network without machines, in which everything follows from `seed`.
    #[must_use]
    pub fn new(seed: u64, weather: Weather) -> Self {
        Self { state: Rc::new(RefCell::new(State::new(seed, weather))) }
    }

    /// Adds a machine. Its number counts from 0.
    #[must_use]
    pub fn host(&self) -> SimVerbs {
        let host = self.state.borrow_mut().add_host();
        SimVerbs::new(Rc::clone(&self.state), host)
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Time {
        self.state.borrow().now()
    }

    /// When something happens next, if nobody posts anything.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.state.borrow().next_event()
    }

    /// Lets time pass until `now`, and everything happen that happens by then.
    pub fn advance(&self, now: Time) {
        self.state.borrow_mut().advance(now);
    }

    /// Changes the weather from now on.
    pub fn set_weather(&self, weather: Weather) {
        self.state.borrow_mut().set_weather(weather);
    }

    /// Pulls the device of that machine away: nothing of it is of any more use.
    pub fn pull(&self, host: usize) {
        self.state.borrow_mut().pull(host);
    }

    /// Takes away the interface that the device of that machine is of: its port cannot be asked any more, which an event
    /// gives reason to do, and the kernel waits until nobody has the device open. Soft-RoCE does so.
    pub fn unplug(&self, host: usize) {
        self.state.borrow_mut().unplug(host);
    }

    /// Whether anybody has the device of that machine open, or a queue pair of it, such as one that is being connected.
    #[must_use]
    pub fn is_open(&self, host: usize) -> bool {
        self.state.borrow().is_open(host)
    }

    /// So many more bytes may be registered on that machine, whether others are given back or not.
    pub fn limit_memory(&self, host: usize, bytes: u64) {
        self.state.borrow_mut().host_mut(host).memory_left_bytes = bytes;
    }

    /// That machine makes no queue of completions any more, as devices do not that lock the memory of queues, too, where
    /// no more than so many bytes may be locked; or makes them again.
    pub fn limit_queues(&self, host: usize, bytes: Option<u64>) {
        self.state.borrow_mut().host_mut(host).queues_limit_bytes = bytes;
    }

    /// That machine makes no queue pair any more that is to take more bytes inline, as devices do that have less.
    pub fn limit_inline(&self, host: usize, bytes: u32) {
        self.state.borrow_mut().host_mut(host).inline_bytes_max = bytes;
    }

    /// The port of that machine takes packets of so many bytes, for the queue pairs to come.
    pub fn limit_mtu(&self, host: usize, bytes: u16) {
        self.state.borrow_mut().host_mut(host).mtu_bytes = bytes;
    }

    /// The device of that machine has no shared receives, as some have none.
    pub fn without_shared_receives(&self, host: usize) {
        self.state.borrow_mut().host_mut(host).shared_receives = 0;
    }

    /// How often more was to be registered on that machine than may be.
    #[must_use]
    pub fn memory_refused(&self, host: usize) -> u64 {
        self.state.borrow_mut().host_mut(host).memory_refused
    }

    /// The receives of that machine's queue pairs fail: they take nothing any more.
    pub fn fail_receives(&self, host: usize) {
        self.state.borrow_mut().fail_receives(host);
    }

    /// The queue pairs of that machine fail by themselves, of which one with nothing under way says nothing but an event.
    pub fn fail_pairs(&self, host: usize) {
        self.state.borrow_mut().fail_pairs(host);
    }

    /// The completion queues of that machine fail: nothing shows in them any more, and only an event says so.
    pub fn fail_completions(&self, host: usize) {
        self.state.borrow_mut().fail_completions(host);
    }

    /// How many events of that machine's completion queues nobody has taken.
    #[must_use]
    pub fn events_waiting(&self, host: usize) -> usize {
        self.state.borrow().events_waiting(host)
    }

    /// How often a message of a connected queue pair found nobody ready to receive it, on all machines.
    #[must_use]
    pub fn not_ready(&self) -> u64 {
        self.state.borrow().not_ready
    }

    /// Looks from now on for a text, which is not empty, in each message and datagram that comes to a receiver.
    pub fn look_for(&self, text: &[u8]) {
        let mut state = self.state.borrow_mut();
        state.wanted = text.to_vec();
        state.sightings = 0;
    }

    /// In how many of them the text was that is [looked for](Fabric::look_for).
    #[must_use]
    pub fn sightings(&self) -> u64 {
        self.state.borrow().sightings
    }

    /// Gives that machine another GID in place of the one it has, by which nobody reaches it any more.
    pub fn readdress(&self, host: usize) {
        self.state.borrow_mut().readdress(host);
    }

    /// The same with a GID of the link alone, as a port has that got no other yet.
    pub fn readdress_by_link(&self, host: usize) {
        self.state.borrow_mut().readdress_by_link(host);
    }

    /// Gives that machine one GID more, at the next index.
    pub fn address(&self, host: usize) {
        self.state.borrow_mut().address(host);
    }

    /// Takes the port of that machine down, or up again.
    pub fn set_port(&self, host: usize, is_up: bool) {
        self.state.borrow_mut().set_port(host, is_up);
    }
}

#[cfg(test)]
mod tests;
