//! The state of the network: machines, queues, and what happens when.

use super::super::verbs::{
    Completion, DeviceError, DeviceEvent, Endpoint, Limits, Outcome, Port, QueuePairState, WorkId,
};
use super::Weather;
use super::events::{Event, Timed};
use super::pair::{Kind, Pair, Payload};
use super::queue::{Completions, ReceiveQueue};
use crate::link::{Random, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::task::Waker;
use std::time::Duration;

/// The number of the first queue pair; devices keep the lowest for themselves.
pub(super) const FIRST_QPN: u32 = 0x11;

/// What the queue pairs of a machine take inline, unless it is told otherwise.
const INLINE_BYTES_MAX: u32 = 256;

/// What the ports of machines take, unless they are told otherwise.
const MTU_BYTES: u16 = 4096;

/// What completions of a queue are told apart by, in its network: its place, which no other one gets.
pub(super) fn identity(place: usize) -> u64 {
    place as u64 + 1
}

/// A machine with one device.
#[derive(Debug)]
pub(super) struct Host {
    /// What its port is reached by, by index.
    pub(super) gids: Vec<[u8; 16]>,
    pub(super) is_gone: bool,
    pub(super) is_up: bool,
    /// Whether its device has lost the interface that it is of.
    pub(super) is_unplugged: bool,
    /// It makes no queue pair that is to take more bytes inline.
    pub(super) inline_bytes_max: u32,
    /// How many queues of shared receives its device says that it makes at most.
    pub(super) shared_receives: u32,
    /// Of its port.
    pub(super) mtu_bytes: u16,
    /// The number of its next queue pair, unless one is free. Other machines use the same ones.
    next_qpn: u32,
    free_qpns: Vec<u32>,
    /// How often its device is open.
    pub(super) opened: usize,
    /// How many more bytes may be registered.
    pub(super) memory_left_bytes: u64,
    /// What limits the memory of its queues, if there is none left for any.
    pub(super) queues_limit_bytes: Option<u64>,
    /// How often more was asked for than there is.
    pub(super) memory_refused: u64,
    pub(super) news: VecDeque<DeviceEvent>,
    pub(super) waker: Option<Waker>,
}

impl Host {
    /// The number of a queue pair that is made: that of one that is gone if there is any, so that they are taken for each other.
    fn take_qpn(&mut self) -> u32 {
        self.free_qpns.pop().unwrap_or_else(|| {
            self.next_qpn += 1;
            self.next_qpn - 1
        })
    }
}

#[derive(Debug)]
pub(super) struct State {
    now: Time,
    serial: u64,
    events: BinaryHeap<Reverse<Timed>>,
    pub(super) random: Random,
    pub(super) weather: Weather,
    pub(super) hosts: Vec<Host>,
    /// How many GIDs were given to them.
    pub(super) addresses: u32,
    /// How often a message found nobody ready to receive it.
    pub(super) not_ready: u64,
    /// What is looked for in all that comes to a receiver, if anything, and how often it was there.
    pub(super) wanted: Vec<u8>,
    pub(super) sightings: u64,
    /// A queue pair that is gone leaves its place empty, and its number to another one of its machine.
    pairs: Vec<Option<Pair>>,
    /// The places of those that are there, by machine and number.
    numbers: BTreeMap<(usize, u32), usize>,
    completions: Vec<Completions>,
    receives: Vec<ReceiveQueue>,
    /// Memory that datagrams and inline sends come and go in.
    pool: Vec<Vec<u8>>,
    pub(super) scratch: Vec<u8>,
}

impl State {
    pub(super) fn new(seed: u64, weather: Weather) -> Self {
        Self {
            now: Time::from_nanos(0),
            serial: 0,
            events: BinaryHeap::new(),
            random: Random::new(seed),
            weather,
            hosts: Vec::new(),
            addresses: 0,
            not_ready: 0,
            wanted: Vec::new(),
            sightings: 0,
            pairs: Vec::new(),
            numbers: BTreeMap::new(),
            completions: Vec::new(),
            receives: Vec::new(),
            pool: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub(super) const LIMITS: Limits = Limits {
        ports: 1,
        queue_pairs: 1 << 16,
        requests: 1 << 14,
        completions: 32_767,
        shared_receives: 1 << 8,
        shared_requests: 1 << 14,
        addresses: 32_767,
        memory_bytes: 1 << 30,
    };

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn set_weather(&mut self, weather: Weather) {
        self.weather = weather;
    }

    pub(super) fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse(event)| event.0)
    }

    pub(super) fn advance(&mut self, until: Time) {
        while self.next_event().is_some_and(|at| at <= until) {
            let Some(Reverse(Timed(at, _, event))) = self.events.pop() else { return };
            self.now = self.now.max(at);
            match event {
                Event::Send(pair) => self.on_send(pair),
                Event::Datagram(datagram) => self.on_datagram(datagram),
                Event::Complete(queue, completion) => self.on_complete(queue, completion),
                Event::LetGo(pair) => self.let_go(pair),
                Event::Wake(waker) => waker.wake(),
            }
        }
        self.now = self.now.max(until);
    }

    pub(super) fn at(&mut self, at: Time, event: Event) {
        self.serial += 1;
        self.events.push(Reverse(Timed(at, self.serial, event)));
    }

    /// Up to so long, drawn.
    pub(super) fn drawn(&mut self, max: Duration) -> Duration {
        let nanos = u64::try_from(max.as_nanos()).unwrap_or(u64::MAX - 1);
        if nanos == 0 { max } else { Duration::from_nanos(self.random.below(nanos + 1)) }
    }

    pub(super) fn travel(&mut self) -> Duration {
        self.weather.latency + self.drawn(self.weather.jitter)
    }

    // Machines.

    pub(super) fn add_host(&mut self) -> usize {
        let gid = self.next_gid();
        self.hosts.push(Host {
            gids: vec![gid],
            is_gone: false,
            is_up: true,
            is_unplugged: false,
            inline_bytes_max: INLINE_BYTES_MAX,
            shared_receives: Self::LIMITS.shared_receives,
            mtu_bytes: MTU_BYTES,
            next_qpn: FIRST_QPN,
            free_qpns: Vec::new(),
            opened: 0,
            memory_left_bytes: u64::MAX,
            queues_limit_bytes: None,
            memory_refused: 0,
            news: VecDeque::new(),
            waker: None,
        });
        self.hosts.len() - 1
    }

    /// For how long the system looks in vain for a machine that is reached by that GID; none if it finds it, or does
    /// not look.
    pub(super) fn search(&self, gid: &[u8; 16]) -> Option<Duration> {
        let search = self.weather.search;
        let is_found = search.is_zero() || self.host_at(gid).is_some_and(|host| self.is_up(host));
        (!is_found).then_some(search)
    }

    pub(super) fn alive(&self, host: usize) -> Result<(), DeviceError> {
        if self.hosts[host].is_gone { Err(DeviceError::Gone) } else { Ok(()) }
    }

    pub(super) fn is_up(&self, host: usize) -> bool {
        let it = &self.hosts[host];
        it.is_up && !it.is_gone && !it.is_unplugged
    }

    /// The port of that machine, as it is reached by that GID.
    pub(super) fn port(&self, host: usize, gid: [u8; 16]) -> Port {
        Port {
            is_up: self.is_up(host),
            layer: super::super::verbs::LinkLayer::Ethernet,
            mtu_bytes: self.hosts[host].mtu_bytes,
            lid: 0,
            gid,
        }
    }

    /// Whether anybody has the device of that machine open, or the system a queue pair of it.
    pub(super) fn is_open(&self, host: usize) -> bool {
        self.hosts[host].opened > 0 || self.pairs.iter().flatten().any(|pair| pair.host == host)
    }

    pub(super) fn host_mut(&mut self, host: usize) -> &mut Host {
        &mut self.hosts[host]
    }

    pub(super) fn tell(&mut self, host: usize, event: DeviceEvent) {
        let host = &mut self.hosts[host];
        host.news.push_back(event);
        if let Some(waker) = host.waker.take() {
            waker.wake();
        }
    }

    pub(super) fn pull(&mut self, host: usize) {
        let Some(it) = self.hosts.get_mut(host) else { return };
        it.is_gone = true;
        self.tell(host, DeviceEvent::Gone);
        for queue in self.completions.iter_mut().filter(|it| it.host == host) {
            queue.wake();
        }
    }

    pub(super) fn unplug(&mut self, host: usize) {
        let Some(it) = self.hosts.get_mut(host) else { return };
        it.is_unplugged = true;
        self.tell(host, DeviceEvent::GidsChanged);
    }

    pub(super) fn set_port(&mut self, host: usize, is_up: bool) {
        let Some(it) = self.hosts.get_mut(host) else { return };
        if std::mem::replace(&mut it.is_up, is_up) != is_up {
            let event = if is_up { DeviceEvent::PortUp } else { DeviceEvent::PortDown };
            self.tell(host, event);
        }
    }

    /// The receives of all queue pairs of that machine are of no more use.
    pub(super) fn fail_receives(&mut self, host: usize) {
        for pair in self.pairs.iter().flatten().filter(|pair| pair.host == host) {
            self.receives[pair.receives].has_failed = true;
        }
        self.tell(host, DeviceEvent::ReceivesFailed);
    }

    /// All queue pairs of that machine fail. One with nothing under way says so by an event alone.
    pub(super) fn fail_pairs(&mut self, host: usize) {
        for pair in 0..self.pairs.len() {
            if self.pair(pair).is_some_and(|it| it.host == host) {
                self.fail(pair, Outcome::Flushed);
            }
        }
    }

    /// The completions of that machine come to nobody any more.
    pub(super) fn fail_completions(&mut self, host: usize) {
        for queue in self.completions.iter_mut().filter(|it| it.host == host) {
            queue.is_silent = true;
        }
        self.tell(host, DeviceEvent::CompletionsFailed);
    }

    // Queues.

    pub(super) fn add_completions(&mut self, host: usize, depth: u32) -> usize {
        self.completions.push(Completions::new(host, depth));
        self.completions.len() - 1
    }

    pub(super) fn events_waiting(&self, host: usize) -> usize {
        self.completions.iter().filter(|it| it.host == host).map(|it| it.events).sum()
    }

    pub(super) fn completions(&mut self, queue: usize) -> &mut Completions {
        &mut self.completions[queue]
    }

    pub(super) fn add_receives(&mut self, depth: u32, owner: u16) -> usize {
        self.receives.push(ReceiveQueue::new(depth, owner));
        self.receives.len() - 1
    }

    pub(super) fn receives(&mut self, queue: usize) -> &mut ReceiveQueue {
        &mut self.receives[queue]
    }

    pub(super) fn add_pair(&mut self, host: usize, make: impl FnOnce(usize, u32) -> Pair) -> usize {
        let place = self.pairs.len();
        let qpn = self.hosts[host].take_qpn();
        self.pairs.push(Some(make(place, qpn)));
        self.numbers.insert((host, qpn), place);
        place
    }

    pub(super) fn pair(&mut self, pair: usize) -> Option<&mut Pair> {
        self.pairs.get_mut(pair)?.as_mut()
    }

    /// Destroys a queue pair; what it held is the caller's.
    pub(super) fn remove_pair(&mut self, pair: usize) -> Option<Pair> {
        let gone = self.pairs.get_mut(pair)?.take()?;
        self.numbers.remove(&(gone.host, gone.qpn));
        let is_of_it = |event: &DeviceEvent| matches!(event, DeviceEvent::QueuePairFailed { qpn } if *qpn == gone.qpn);
        let host = &mut self.hosts[gone.host];
        host.free_qpns.push(gone.qpn);
        host.news.retain(|event| !is_of_it(event));
        // Some devices take back what nobody has polled, and others leave it there.
        if self.random.below(2) == 0 {
            self.completions[gone.completions].forget(gone.qpn);
        }
        Some(gone)
    }

    /// Nobody has that queue pair any more: it is destroyed once the system does not look for its peer.
    pub(super) fn let_go(&mut self, pair: usize) {
        let until = self.pair(pair).map(|it| it.searched_until);
        match until.filter(|&until| until > self.now) {
            Some(until) => self.at(until, Event::LetGo(pair)),
            None => {
                self.remove_pair(pair);
            }
        }
    }

    /// Where the queue pair is that has that number on that machine now.
    pub(super) fn place(&self, host: usize, qpn: u32) -> Option<usize> {
        self.numbers.get(&(host, qpn)).copied()
    }

    /// The queue pair of that number on that machine, if packets reach it.
    pub(super) fn reach(&self, gid: &[u8; 16], qpn: u32) -> Option<usize> {
        let host = self.host_at(gid)?;
        let index = self.place(host, qpn)?;
        let pair = self.pairs.get(index)?.as_ref()?;
        (pair.gid == *gid && self.is_up(host)).then_some(index)
    }

    pub(super) fn endpoint(pair: &Pair) -> Endpoint {
        let qkey = if let Kind::Datagram { qkey } = pair.kind { qkey } else { 0 };
        Endpoint {
            gid: pair.gid,
            lid: 0,
            qpn: pair.qpn,
            psn: pair.config.psn & 0xff_ffff,
            qkey,
            mtu_bytes: pair.mtu_bytes,
        }
    }

    // Completions.

    /// Shows a completion of that queue pair, some time after those before it.
    pub(super) fn complete(&mut self, pair: usize, mut completion: Completion) {
        let late = self.drawn(self.weather.completion_jitter);
        let now = self.now;
        let Some(it) = self.pair(pair) else { return };
        it.last_shown = it.last_shown.max(now + late);
        completion.qpn = it.qpn;
        let (at, queue) = (it.last_shown, it.completions);
        self.at(at, Event::Complete(queue, completion));
    }

    fn on_complete(&mut self, queue: usize, completion: Completion) {
        if self.completions[queue].has_overflowed {
            return;
        }
        if !self.completions[queue].push(completion) {
            let host = self.completions[queue].host;
            self.tell(host, DeviceEvent::CompletionsFailed);
            for pair in 0..self.pairs.len() {
                if self.pairs[pair].as_ref().is_some_and(|it| it.completions == queue) {
                    self.fail(pair, Outcome::Flushed);
                }
            }
        }
    }

    /// The queue pair fails: its first send for that reason, all else is flushed.
    pub(super) fn fail(&mut self, pair: usize, mut outcome: Outcome) {
        let Some(it) = self.pair(pair) else { return };
        if it.state == QueuePairState::Failed {
            return;
        }
        it.state = QueuePairState::Failed;
        let (host, qpn, receives) = (it.host, it.qpn, it.receives);
        let is_own = it.config.receives_max > 0;
        let outgoing = std::mem::take(&mut it.outgoing);
        for send in outgoing {
            self.reclaim(send.payload);
            self.complete(pair, Completion { work: send.work, outcome, ..Completion::default() });
            outcome = Outcome::Flushed;
        }
        let flushed =
            |work: WorkId| Completion { work, outcome: Outcome::Flushed, ..Completion::default() };
        while is_own && let Some(work) = self.receives[receives].next() {
            self.complete(pair, flushed(work));
        }
        if !is_own {
            self.cut_message(pair);
        }
        self.tell(host, DeviceEvent::QueuePairFailed { qpn });
    }

    /// A message that is half there when its queue pair fails takes its shared receive along, as with Soft-RoCE.
    fn cut_message(&mut self, pair: usize) {
        let Some(it) = self.pair(pair) else { return };
        let (receives, here) = (it.receives, Self::endpoint(it));
        let Kind::Connected { peer: Some(peer), .. } = it.kind else { return };
        let sender = self.reach(&peer.gid, peer.qpn).and_then(|sender| self.pair(sender));
        let is_coming =
            sender.is_some_and(|it| it.is_connected_to(&here) && !it.outgoing.is_empty());
        if is_coming && self.random.below(2) == 0 {
            self.receives[receives].next();
        }
    }

    /// A queue pair that has failed says what it never began, and a last word if there is room.
    pub(super) fn drain(&mut self, pair: usize) {
        let Some(it) = self.pair(pair) else { return };
        let waiting = std::mem::take(&mut it.waiting);
        let last = it.slots.push(None).ok();
        let mut words = Vec::new();
        for send in waiting {
            words.push(send.work);
            self.reclaim(send.payload);
        }
        for work in words.into_iter().chain(last) {
            let outcome = Outcome::Flushed;
            self.complete(pair, Completion { work, outcome, ..Completion::default() });
        }
    }

    // Memory of packets under way.

    pub(super) fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.pool.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        self.pool.push(buffer);
    }

    pub(super) fn reclaim(&mut self, payload: Payload) {
        if let Payload::Inline(buffer) = payload {
            self.give_back(buffer);
        }
    }
}
