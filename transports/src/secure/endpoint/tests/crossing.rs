//! Keys that are asked for twice within a round trip or two, by one side or both, over a network that loses, doubles or
//! delays the first datagrams: each side opens what the other one says, and the association goes on.

use super::*;
use crate::secure::wire::Suite;
use std::collections::BTreeMap;

/// How long a datagram is under way where the way is short, and a late one.
const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_millis(150);
/// How many datagrams to each side may not simply arrive.
const WATCHED: u32 = 4;

/// What happens to the datagrams that do not simply arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lost,
    Late,
    Doubled,
}

/// Who asks for keys first, who second and when, and which of the first datagrams to the one and to the other do not simply
/// arrive.
#[derive(Clone, Copy, Debug)]
struct Plan {
    asks: [usize; 2],
    after: Duration,
    /// How long a datagram is under way.
    way: Duration,
    marked: [u32; 2],
    fate: Fate,
    /// Whether something is said at once under new keys.
    says: bool,
}

struct Crossing {
    now: Time,
    nodes: [Endpoint; 2],
    up: [Option<AssociationId>; 2],
    /// When it arrives and which it is, to whom, and what.
    wire: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    plan: Plan,
    sent: [u32; 2],
    number: u64,
}

impl Crossing {
    fn new(plan: Plan, is_up: bool) -> Self {
        let Pair { now, a, b } = pair(&Config { suite: Suite::Classic, ..Config::default() });
        let (nodes, calm) = ([a, b], Plan { marked: [0; 2], ..plan });
        let (wire, up) = (BTreeMap::new(), [None; 2]);
        let mut crossing = Self { now, nodes, up, wire, plan: calm, sent: [0; 2], number: 0 };
        if is_up {
            crossing.ask(0);
            crossing.run(ms(10_000));
        }
        Self { plan, sent: [0; 2], ..crossing }
    }

    fn ask(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        match self.up[place] {
            Some(id) => node.rekey(self.now, id).unwrap(),
            None => {
                let peer = 2 - place as u8;
                node.connect(self.now, &identity(peer).public(), address(peer)).unwrap();
            }
        }
        self.flush();
    }

    /// What is said goes on its way, and with new keys a text under them.
    fn flush(&mut self) {
        for place in 0..2 {
            for event in events(&mut self.nodes[place]) {
                match event {
                    Event::Up { association, .. } => {
                        assert_eq!(self.up[place].replace(association), None, "up once");
                    }
                    Event::Rekeyed { .. } => {}
                    other => panic!("at {place}: {other:?}"),
                }
                if self.plan.says {
                    let (to, packet) = self.say(place);
                    self.put(to, &packet);
                }
            }
            while let Some(sent) = self.nodes[place].poll_transmit() {
                self.put(1 - place, &sent.packet);
            }
        }
    }

    fn put(&mut self, to: usize, packet: &[u8]) {
        let is_marked = self.sent[to] < WATCHED && self.plan.marked[to] >> self.sent[to] & 1 == 1;
        self.sent[to] += 1;
        let delays = match self.plan.fate {
            _ if !is_marked => &[self.plan.way][..],
            Fate::Lost => &[],
            Fate::Late => &[LATE],
            Fate::Doubled => &[self.plan.way, LATE],
        };
        for delay in delays {
            self.number += 1;
            self.wire.insert((self.now + *delay, self.number), (to, packet.to_owned()));
        }
    }

    fn say(&mut self, place: usize) -> (usize, Vec<u8>) {
        self.number += 1;
        let id = self.up[place].expect("it is up");
        let said = sealed(&mut self.nodes[place], self.now, id, self.number, b"a text");
        (1 - place, said.expect("it has keys").packet)
    }

    fn take(&mut self, to: usize, packet: &mut [u8]) -> Received {
        self.nodes[to].handle(self.now, address(2 - to as u8), packet)
    }

    /// Goes on until then.
    fn run(&mut self, until: Time) {
        loop {
            let due = self.nodes.iter().filter_map(Endpoint::poll_timeout);
            let arrives = self.wire.keys().map(|(at, _)| *at);
            let Some(next) = due.chain(arrives).min().filter(|next| *next <= until) else { break };
            self.now = next.max(self.now);
            if let Some(first) = self.wire.first_entry().filter(|it| it.key().0 <= self.now) {
                let (to, mut packet) = first.remove();
                self.take(to, &mut packet);
            }
            self.nodes.iter_mut().for_each(|node| node.handle_timeout(self.now));
            self.flush();
        }
        self.now = until;
    }

    /// Each opens what the other says.
    fn agree(&mut self) {
        for place in 0..2 {
            let (to, mut packet) = self.say(place);
            let received = self.take(to, &mut packet);
            assert_eq!(text(&received, &packet).as_deref(), Some(&b"a text"[..]), "{received:?}");
        }
    }

    fn cross(plan: Plan, is_up: bool) {
        let mut crossing = Self::new(plan, is_up);
        crossing.ask(plan.asks[0]);
        crossing.run(crossing.now + plan.after);
        crossing.ask(plan.asks[1]);
        crossing.run(crossing.now + Duration::from_millis(350));
        if is_up {
            crossing.agree();
        }
        // Longer than replaced keys linger, and so long that all of those are of age.
        for span in [30, 170] {
            crossing.run(crossing.now + Duration::from_secs(span));
            crossing.agree();
        }
        let left = crossing.nodes.each_ref().map(|node| node.indices.len());
        assert_eq!(left, [1, 1], "keys are kept");
    }

    /// Both connect, and nothing is lost.
    fn connect(plan: Plan) {
        let mut crossing = Self::new(plan, false);
        for place in plan.asks {
            crossing.ask(place);
            crossing.run(crossing.now + plan.after);
        }
        // With longer pauses, the third or fourth of either is answered before the next.
        crossing.run(crossing.now + Duration::from_secs(6));
        crossing.agree();
    }
}

/// Each way in which some of the first datagrams do not simply arrive; two asks cross if the second comes before the
/// first is answered and confirmed. Where something is said at once does not matter to which goes wrong, so it takes turns.
fn cross_in_every_way(asks: [usize; 2], fate: Fate, is_up: bool) {
    for marks in 0..1_u32 << (2 * WATCHED) {
        let marked = [marks % (1 << WATCHED), marks >> WATCHED];
        let after = Duration::from_millis(if marks % 3 == 0 { 30 } else { 50 });
        let says = marks.count_ones() % 2 == 1;
        let plan = Plan { asks, after, way: SOON, marked, fate, says };
        let _named = Named(plan);
        Crossing::cross(plan, is_up);
    }
}

/// Says what fails.
struct Named(Plan);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}", self.0);
        }
    }
}

/// [UDP-46]
#[test]
fn renewals_that_cross_end_nothing() {
    cross_in_every_way([0, 1], Fate::Late, true);
    cross_in_every_way([1, 0], Fate::Doubled, true);
}

/// [UDP-47]
#[test]
fn a_renewal_of_what_is_not_confirmed_ends_nothing() {
    cross_in_every_way([0, 0], Fate::Lost, true);
}

/// [UDP-46]
#[test]
fn who_connect_to_each_other_have_one_association() {
    cross_in_every_way([0, 1], Fate::Late, false);
    cross_in_every_way([1, 0], Fate::Lost, false);
}

/// [UDP-25]: the answer comes after both have asked again.
#[test]
fn who_connect_over_a_long_way_have_one_association() {
    let ways = [20, 60, 100, 130, 200, 260, 300, 350, 410, 500, 600];
    let starts = (0..=600).step_by(50);
    for (way, after) in ways.iter().flat_map(|way| starts.clone().map(move |it| (*way, it))) {
        let [way, after] = [way, after].map(Duration::from_millis);
        for asks in [[0, 1], [1, 0]] {
            let plan = Plan { asks, after, way, marked: [0; 2], fate: Fate::Lost, says: false };
            let _named = Named(plan);
            Crossing::connect(plan);
        }
    }
}

/// [UDP-47]
#[test]
fn an_association_that_is_renewed_before_it_is_confirmed_goes_on() {
    cross_in_every_way([0, 0], Fate::Lost, false);
}
