//! What other systems do for each request, and ours does not: done beside it, to see what it costs.

use greenroom_transports::link::Time;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// As many as there are requests at a time, at most.
const OPEN: usize = 64;
/// Packets that wait at a time, at most, and bytes of one.
const WAITING: usize = 256;
const PACKET_BYTES: usize = 64;

/// What is done at each of these. Nothing, unless it says so.
pub(crate) trait Beside {
    fn call(&mut self, _now: Time, _user: u64) {}
    fn packet(&mut self, _packet: &[u8]) {}
    fn reply(&mut self, _user: u64) {}
    fn polled(&mut self, _now: Time) {}
}

/// Nothing: the clock is read by the caller, once a turn.
pub(crate) struct Nothing;

impl Beside for Nothing {}

/// The clock is read for each call and each packet, by the system's function.
pub(crate) struct Clock;

impl Beside for Clock {
    fn call(&mut self, _: Time, _: u64) {
        black_box(Instant::now());
    }

    fn packet(&mut self, _: &[u8]) {
        black_box(Instant::now());
    }
}

/// The same, by the processor's counter and a multiplication by a number that was found at the start.
pub(crate) struct Ticks(u64);

/// So many bits of the number are behind the point.
const POINT_BITS: u32 = 32;

impl Ticks {
    pub(crate) fn new() -> Self {
        let (began, ticks) = (Instant::now(), counter());
        while began.elapsed() < Duration::from_millis(10) {}
        let (nanos, ticks) = (began.elapsed().as_nanos(), counter().wrapping_sub(ticks));
        Self(((nanos << POINT_BITS) / u128::from(ticks.max(1))) as u64)
    }

    fn now(&self) -> u64 {
        ((u128::from(counter()) * u128::from(self.0)) >> POINT_BITS) as u64
    }
}

impl Beside for Ticks {
    fn call(&mut self, _: Time, _: u64) {
        black_box(self.now());
    }

    fn packet(&mut self, _: &[u8]) {
        black_box(self.now());
    }
}

/// The processor's counter of ticks, where there is one that is always as fast.
#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every processor of this kind has the instruction, and it touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

/// Requests are found by hashing their number.
pub(crate) struct Hashed<S>(HashMap<u64, u64, S>);

pub(crate) type Sip = Hashed<BuildHasherDefault<DefaultHasher>>;
pub(crate) type Fx = Hashed<FxBuildHasher>;

impl<S: Default + BuildHasher> Hashed<S> {
    pub(crate) fn new() -> Self {
        Self(HashMap::default())
    }
}

impl<S: BuildHasher> Beside for Hashed<S> {
    fn call(&mut self, _: Time, user: u64) {
        self.0.insert(user, user);
    }

    fn reply(&mut self, user: u64) {
        self.0.remove(&user);
    }
}

/// When the timer of a request is due.
fn due(now: Time) -> Time {
    now + Duration::from_millis(5)
}

/// Each request has a timer, in order of time.
pub(crate) struct Ordered(BTreeMap<(Time, u64), ()>, Vec<Time>);

impl Ordered {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new(), vec![Time::default(); OPEN])
    }
}

impl Beside for Ordered {
    fn call(&mut self, now: Time, user: u64) {
        let at = due(now);
        self.1[user as usize % OPEN] = at;
        self.0.insert((at, user), ());
    }

    fn reply(&mut self, user: u64) {
        self.0.remove(&(self.1[user as usize % OPEN], user));
    }

    fn polled(&mut self, now: Time) {
        black_box(self.0.first_key_value().is_some_and(|((at, _), ())| *at <= now));
    }
}

/// Slots of a wheel, each so many nanoseconds long.
const WHEEL: usize = 256;
const SLOT_NANOS: u64 = 100_000;
const NONE: u16 = u16::MAX;

/// Each request has a timer, in the slot of a wheel: inserted and cancelled in constant time (Varghese and Lauck, SOSP
/// 1987).
pub(crate) struct Wheel {
    heads: Vec<u16>,
    /// Of each timer the one before it, the one behind it, and its slot.
    timers: Vec<(u16, u16, usize)>,
    turned: u64,
}

impl Wheel {
    pub(crate) fn new() -> Self {
        Self { heads: vec![NONE; WHEEL], timers: vec![(NONE, NONE, 0); OPEN], turned: 0 }
    }
}

impl Beside for Wheel {
    fn call(&mut self, now: Time, user: u64) {
        let (timer, slot) = (user as usize % OPEN, (slot_of(due(now)) % WHEEL as u64) as usize);
        let next = std::mem::replace(&mut self.heads[slot], timer as u16);
        self.timers[timer] = (NONE, next, slot);
        if let Some(next) = self.timers.get_mut(usize::from(next)) {
            next.0 = timer as u16;
        }
    }

    fn reply(&mut self, user: u64) {
        let (previous, next, slot) = self.timers[user as usize % OPEN];
        match self.timers.get_mut(usize::from(previous)) {
            Some(previous) => previous.1 = next,
            None => self.heads[slot] = next,
        }
        if let Some(next) = self.timers.get_mut(usize::from(next)) {
            next.0 = previous;
        }
    }

    fn polled(&mut self, now: Time) {
        // What would be due: replies come long before.
        while self.turned < slot_of(now) {
            self.turned += 1;
            black_box(self.heads[(self.turned % WHEEL as u64) as usize]);
        }
    }
}

fn slot_of(at: Time) -> u64 {
    at.as_nanos() / SLOT_NANOS
}

/// Packets are copied into memory of their own, and wait until all were taken from the device.
pub(crate) struct Copied(VecDeque<Vec<u8>>);

impl Copied {
    pub(crate) fn new() -> Self {
        Self(VecDeque::new())
    }
}

impl Beside for Copied {
    fn packet(&mut self, packet: &[u8]) {
        self.0.push_back(packet.to_vec());
    }

    fn polled(&mut self, _: Time) {
        self.0.drain(..).for_each(|packet| drop(black_box(packet)));
    }
}

/// A packet in place.
fn in_place(packet: &[u8]) -> [u8; PACKET_BYTES] {
    let mut bytes = [0; PACKET_BYTES];
    let len = packet.len().min(PACKET_BYTES);
    bytes[..len].copy_from_slice(&packet[..len]);
    bytes
}

/// Packets wait in a ring that grows.
pub(crate) struct Growing(VecDeque<[u8; PACKET_BYTES]>);

impl Growing {
    pub(crate) fn new() -> Self {
        Self(VecDeque::with_capacity(WAITING))
    }
}

impl Beside for Growing {
    fn packet(&mut self, packet: &[u8]) {
        self.0.push_back(in_place(packet));
    }

    fn polled(&mut self, _: Time) {
        while let Some(packet) = self.0.pop_front() {
            black_box(packet);
        }
    }
}

/// Packets wait in an array.
pub(crate) struct Fixed {
    packets: Box<[[u8; PACKET_BYTES]; WAITING]>,
    first: usize,
    next: usize,
}

impl Fixed {
    pub(crate) fn new() -> Self {
        Self { packets: Box::new([[0; PACKET_BYTES]; WAITING]), first: 0, next: 0 }
    }
}

impl Beside for Fixed {
    fn packet(&mut self, packet: &[u8]) {
        self.packets[self.next % WAITING] = in_place(packet);
        self.next += 1;
    }

    fn polled(&mut self, _: Time) {
        while self.first < self.next {
            black_box(self.packets[self.first % WAITING]);
            self.first += 1;
        }
    }
}
