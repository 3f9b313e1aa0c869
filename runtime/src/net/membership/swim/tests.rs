use super::*;
use crate::net::{Identity, Incarnation};
use State::{Alive, Down};
use proptest::prelude::*;
use proptest::sample::Index;

pub(in crate::net::membership) fn id(node: u64, generation: u64) -> Id {
    let identity = Identity { node: NodeId(node), incarnation: Incarnation(1) };
    Id::new(identity, "loopback:here".parse().unwrap(), generation)
}

/// A packet of one node that says what others are, of which generation.
pub(in crate::net::membership) fn gossip(
    from: &Id,
    to: &Id,
    told: &[(u64, u64, State)],
) -> Vec<u8> {
    // Gossip is the ninth of foca's messages.
    let mut packet = postcard::to_allocvec(&(from, 0_u16, to, 8_u8)).unwrap();
    packet.extend(u16::try_from(told.len()).unwrap().to_be_bytes());
    for (node, generation, state) in told {
        packet.extend(postcard::to_allocvec(&(id(*node, *generation), 0_u16, state)).unwrap());
    }
    packet
}

/// Members of other versions of this program read these bytes, of which the lock of the wire sees none.
#[test]
fn packets_are_written_as_they_were() {
    let from = Id::new(
        Identity { node: NodeId(1), incarnation: Incarnation(300) },
        "udp:10.0.0.1:7000".parse().unwrap(),
        1_800_000_000_000,
    );
    let mut swim = Swim::new(from, Duration::from_secs(1), 16, 7);
    swim.greet(id(2, 0));
    let (to, packet) = swim.take().packets.remove(0);
    assert_eq!(to.identity.node, NodeId(2));
    let hex: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
    let is = "01ac0280a0f1c2b13400117564703a31302e302e302e313a3730303000020100000d6c6f6f706261636b3a6865726506";
    assert_eq!(hex, is);
}

struct Node {
    id: Id,
    swim: Swim,
    timers: Timers,
    now: Time,
}

impl Node {
    fn new(node: u64, members_max: usize) -> Self {
        let id = id(node, 1);
        let swim = Swim::new(id.clone(), Duration::from_secs(1), members_max, node);
        Self { id, swim, timers: Timers::default(), now: Time(0) }
    }

    fn packet(&mut self, packet: &[u8]) -> Result<(), foca::Error> {
        // Each packet comes later than the one before.
        self.now = self.now.after(Duration::from_secs(1));
        self.hear(packet)
    }

    fn hear(&mut self, packet: &[u8]) -> Result<(), foca::Error> {
        let taken = self.swim.packet(packet, self.now, self.wall_ms(), &mut self.timers);
        self.set_timers();
        taken
    }

    /// Some time passes.
    fn wait(&mut self, span: Duration) {
        self.now = self.now.after(span);
        while let Some(timer) = self.timers.take(self.now) {
            self.swim.tick(timer);
            self.set_timers();
        }
    }

    fn set_timers(&mut self) {
        for (delay, timer) in std::mem::take(&mut self.swim.out.timers) {
            self.timers.set(self.now.after(delay), timer);
        }
    }

    fn wall_ms(&self) -> u64 {
        self.now.0 / 1_000_000
    }

    /// Which member it is now.
    fn is(&self) -> Id {
        self.swim.foca.identity().clone()
    }

    /// Another node says what some are, all of their first generation.
    fn told(&mut self, from: u64, told: &[(u64, State)]) -> Result<(), foca::Error> {
        let told: Vec<_> = told.iter().map(|(node, state)| (*node, 1, *state)).collect();
        self.packet(&gossip(&id(from, 1), &self.id, &told))
    }

    fn up(&self) -> Vec<u64> {
        let mut up: Vec<_> = self.swim.up().map(|member| member.identity.node.0).collect();
        up.sort_unstable();
        up
    }

    /// Takes the packets that tell others what is new.
    fn news(&mut self) -> Vec<Vec<u8>> {
        let Swim { foca, out, .. } = &mut self.swim;
        foca.gossip(&mut *out).unwrap();
        out.packets.drain(..).map(|(_, packet)| packet).collect()
    }
}

#[test]
fn a_packet_that_there_is_no_room_for_costs_nobody_a_place() {
    let mut node = Node::new(1, 4);
    node.told(2, &[(3, Down), (7, Down)]).unwrap();
    let more = [4, 5, 6, 8].map(|node| (node, Alive));
    assert!(had_no_room(&node.told(2, &more)));
    // Nor does one that is not understood, or comes from somebody that is down.
    let mut short = gossip(&id(2, 1), &node.id, &[(4, 1, Alive), (5, 1, Alive), (6, 1, Alive)]);
    short.pop();
    assert!(node.packet(&short).is_err());
    node.told(3, &more[..2]).unwrap();
    assert_eq!(node.up(), [2]);
    // So old news does not bring back who is down, even if others come with it.
    node.told(2, &[(3, Alive), (7, Alive)]).unwrap();
    assert!(had_no_room(&node.told(2, &[(3, Alive), (4, Alive), (5, Alive), (6, Alive)])));
    node.told(2, &[(3, Alive), (4, Alive), (5, Alive)]).unwrap();
    assert_eq!(node.up(), [2, 4, 5]);
    node.told(2, &[(6, Alive)]).unwrap();
    assert_eq!(node.up(), [2, 4, 5, 6]);
    assert_eq!(node.swim.table.lock().nodes.len(), 4);
}

#[test]
fn who_comes_takes_the_place_of_who_has_been_down_for_longest() {
    let mut node = Node::new(1, 4);
    for dead in [5, 3, 4] {
        node.told(2, &[(dead, Down)]).unwrap();
    }
    // But not that of one which the same packet speaks of.
    node.told(2, &[(6, Alive), (5, Down)]).unwrap();
    assert_eq!(node.up(), [2, 6]);
    let known = node.swim.table.lock().nodes.clone();
    assert_eq!(known, BTreeSet::from([2, 4, 5, 6].map(NodeId)));
}

#[test]
fn in_a_period_no_more_come_than_there_is_room_for() {
    let mut node = Node::new(1, 4);
    let (me, from) = (node.id.clone(), id(2, 1));
    for period in 1..5 {
        node.wait(Duration::from_secs(1));
        let mut came = BTreeSet::new();
        for stranger in period * 100..period * 100 + 50 {
            for state in [Alive, Down] {
                let taken = node.hear(&gossip(&from, &me, &[(stranger, 1, state)]));
                assert!(taken.is_ok() || had_no_room(&taken));
                came.extend(node.up());
            }
        }
        // One of them is who says so.
        assert_eq!(came.len(), 4, "{came:?}");
    }
}

#[test]
fn news_of_the_dead_takes_nobodys_place() {
    let mut node = Node::new(1, 3);
    node.told(2, &[(3, Down), (4, Down)]).unwrap();
    let known = node.swim.table.lock().nodes.clone();
    let backlog = node.swim.foca.updates_backlog();
    node.told(2, &[(5, Down), (6, Down)]).unwrap();
    assert_eq!(node.swim.table.lock().nodes, known);
    assert_eq!(node.swim.foca.updates_backlog(), backlog, "nobody is told");
    // What else a packet says is heard, also of this node, which takes part anew.
    node.told(2, &[(5, Down), (1, Down), (7, Alive)]).unwrap();
    assert_eq!(node.up(), [2, 7]);
    assert_ne!(*node.swim.foca.identity(), node.id);
}

#[test]
fn news_of_the_dead_comes_to_an_end_where_there_is_no_room() {
    let mut nodes = [Node::new(1, 4), Node::new(2, 4)];
    for (node, other, dead) in [(0, 2, 10), (1, 1, 20)] {
        nodes[node].told(other, &[(dead, Down), (dead + 1, Down), (dead + 2, Down)]).unwrap();
    }
    for _ in 0..1000 {
        let [one, other] = &mut nodes;
        if [&one, &other].iter().all(|node| node.swim.foca.updates_backlog() == 0) {
            return;
        }
        one.news().iter().for_each(|packet| other.packet(packet).unwrap());
        other.news().iter().for_each(|packet| one.packet(packet).unwrap());
    }
    panic!("it goes round and round");
}

#[test]
fn what_a_node_was_before_takes_no_place() {
    let mut node = Node::new(1, 3);
    let me = node.id.clone();
    let mut told = |told: &[(u64, u64, State)]| node.packet(&gossip(&id(2, 1), &me, told));
    told(&[(3, 1, Down), (4, 1, Alive)]).unwrap();
    told(&[(1, 0, Alive)]).unwrap();
    // So there is room for all that others say, and nobody is forgotten for it.
    told(&[(1, 0, Down), (5, 1, Down)]).unwrap();
    told(&[(5, 1, Down)]).unwrap();
    let known = node.swim.table.lock().nodes.clone();
    assert_eq!(known, BTreeSet::from([2, 3, 4].map(NodeId)));
}

/// Nodes hear each other at once for so many periods; returns how often the first one was another member than before.
fn let_pass(nodes: &mut [Node], periods: u32) -> u32 {
    let (mut was, mut renewals) = (nodes[0].is(), 0);
    for part in 1..=5 * periods {
        for node in &mut *nodes {
            node.wait(Duration::from_millis(200));
            if part % 5 == 0 {
                node.swim.next_period();
                node.set_timers();
            }
        }
        loop {
            let said = nodes.iter_mut().flat_map(|node| std::mem::take(&mut node.swim.out.packets));
            let said: Vec<_> = said.collect();
            if said.is_empty() {
                break;
            }
            for (to, packet) in said {
                let to = to.identity.node;
                if let Some(node) = nodes.iter_mut().find(|node| node.id.identity.node == to) {
                    // Some of them are for who it is not any more.
                    let _ = node.hear(&packet);
                }
                if nodes[0].is() != was {
                    was = nodes[0].is();
                    renewals += 1;
                    assert!(renewals <= periods, "it takes part anew more than once a period");
                }
            }
        }
    }
    renewals
}

#[test]
fn a_hundred_that_start_together_learn_of_each_other() {
    const OTHERS: usize = if cfg!(sanitized) { 19 } else { 99 };
    let mut nodes: Vec<_> = (0..=OTHERS as u64).map(|node| Node::new(node + 1, OTHERS)).collect();
    for node in &mut nodes[1..] {
        node.swim.greet(id(1, 1));
    }
    let_pass(&mut nodes, 40);
    for node in &nodes {
        assert_eq!(node.up().len(), OTHERS, "{:?}", node.id);
    }
}

#[test]
fn a_node_takes_part_again_whatever_is_claimed_for_it() {
    for state in [Alive, Down] {
        for ahead in [1 << 20, AHEAD_MS_MAX] {
            let mut nodes = [1, 2, 3].map(|node| Node::new(node, 10));
            for other in [2, 3] {
                nodes[0].swim.greet(id(other, 1));
            }
            let_pass(&mut nodes, 10);
            let first = nodes[0].is();
            let knows = |node: &Node, id: &Id| {
                node.swim.foca.iter_members().any(|member| member.id() == id)
            };
            assert!(nodes[1..].iter().all(|node| knows(node, &first)));
            let claim = nodes[0].wall_ms() + ahead;
            for node in &mut nodes[1..] {
                let told = gossip(&id(9, 1), &node.is(), &[(1, claim, state)]);
                node.hear(&told).unwrap();
            }
            assert!(!nodes[1..].iter().any(|node| knows(node, &first)));
            let renewals = let_pass(&mut nodes, 30);
            let now = nodes[0].is();
            assert!(nodes[1..].iter().all(|node| knows(node, &now)), "{state:?}, {ahead}");
            assert!(now.is_after(claim) && renewals > 0);
            // And stays.
            assert_eq!(let_pass(&mut nodes, 30), 0, "{state:?}, {ahead}");
        }
    }
}

#[test]
fn nobody_is_of_a_time_to_come() {
    let mut node = Node::new(1, 10);
    let me = node.id.clone();
    let late = node.wall_ms() + AHEAD_MS_MAX + 1_000;
    let mut told = |told: &[(u64, u64, State)]| node.packet(&gossip(&id(2, 1), &me, told));
    // A second passes before each.
    told(&[(3, late, Alive)]).unwrap();
    assert!(told(&[(4, late + 1_001, Alive)]).is_err());
    assert_eq!(node.up(), [2, 3]);
}

/// What somebody may write who does not keep to the protocol: any bytes, and packets of any members, altered and cut.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let generation = prop_oneof![0..3_u64, any::<u64>()];
    let anybody = (0..9_u64, generation).prop_map(|(node, generation)| id(node, generation));
    let whom = prop_oneof![3 => Just(id(1, 1)), 1 => anybody.clone()];
    let state = prop_oneof![Just(Alive), Just(State::Suspect), Just(Down)];
    let told = prop::collection::vec((anybody.clone(), any::<u16>(), state), 0..7);
    // Some of foca's eleven messages go on behind their kind, with a member, a number or both.
    let goes_on = (prop::option::of(anybody.clone()), prop::option::of(any::<u8>()));
    let written = (anybody, any::<u16>(), whom, 0..12_u8, goes_on, told).prop_map(
        |(from, life, to, kind, (member, number), told)| {
            let mut packet = postcard::to_allocvec(&(from, life, to, kind)).unwrap();
            packet.extend(member.iter().flat_map(|it| postcard::to_allocvec(it).unwrap()));
            packet.extend(number);
            packet.extend((told.len() as u16).to_be_bytes());
            packet.extend(told.iter().flat_map(|it| postcard::to_allocvec(it).unwrap()));
            packet
        },
    );
    let fault = (any::<Index>(), any::<u8>(), any::<Index>());
    let faulty = (written.clone(), fault).prop_map(|(mut packet, (at, byte, end))| {
        let at = at.index(packet.len());
        packet[at] = byte;
        packet.truncate(end.index(packet.len()) + 1);
        packet
    });
    prop_oneof![4 => written, 2 => faulty, 1 => prop::collection::vec(any::<u8>(), 0..80)]
}

proptest! {
    #[test]
    fn whatever_others_write_a_node_keeps_and_says_little(
        packets in prop::collection::vec((bytes(), 0..4_u64), 0..60),
    ) {
        const OTHERS: usize = 4;
        let mut node = Node::new(1, OTHERS);
        for (packet, seconds) in packets {
            // Most are refused.
            let _ = node.hear(&packet);
            // An answer, and news of itself.
            prop_assert!(node.swim.take().packets.len() <= 1 + HELPERS);
            node.wait(Duration::from_secs(seconds));
            node.swim.next_period();
            node.set_timers();
            let sent = node.swim.take().packets;
            prop_assert!(sent.iter().all(|(_, packet)| packet.len() <= PACKET_BYTES_MAX));
            prop_assert!(node.swim.table.lock().nodes.len() <= OTHERS);
            // What it was before it took part anew may be there, too.
            prop_assert!(node.swim.foca.iter_membership_state().count() <= OTHERS + 1);
        }
    }
}
