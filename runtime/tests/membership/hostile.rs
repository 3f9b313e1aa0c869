//! What a node says that speaks the protocol wrongly changes nothing.

use crate::joining::join;
use crate::support::{Builds, LONG, run, soon, until};
use greenroom::net::membership::{MemberEvent, Membership};
use greenroom::net::{Identity, Incarnation, Loopback, Node, NodeId};
use greenroom::{Actor, Event, Ref, System, handlers};

/// Has the name of the real protocol.
#[derive(Actor)]
pub(crate) struct Fake;

#[handlers(wire = "greenroom.membership/1")]
impl Fake {
    #[tell]
    fn packet(&mut self, bytes: Vec<u8>) {
        let _ = bytes;
    }
}

/// A greeting in the bytes of the protocol, from a node of that number.
fn greeting(from: u64) -> Vec<u8> {
    let id = |node: u64| (node, 1_u64, 1_u64, 0_u8, "loopback:nowhere");
    // Announce is the seventh of foca's messages.
    postcard(&(id(from), 0_u16, id(1), 6_u8))
}

fn postcard(value: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).unwrap()
}

#[test]
fn packets_that_are_none_change_nothing() {
    let network = Loopback::new();
    // So long a period that nobody goes down meanwhile.
    let alone = |at: Membership| at.members_max(3).period(LONG);
    let (system, _node, members) = join(&network, "here", 1, alone);
    let other = System::builder().workers(1).own();
    let identity = Identity { node: NodeId(9), incarnation: Incarnation(9) };
    let hostile = Node::start(&other, network.node("hostile", identity)).unwrap();
    run(soon(async {
        let peer = hostile.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        let target: Ref<Fake> = peer.find("greenroom.membership").await.unwrap();
        let (mut told, mut events) = (system.events(), members.subscribe());
        let mut long = greeting(2);
        long.resize(2000, 0);
        let no_address = postcard(&((2_u64, 1_u64, 1_u64, 0_u8, "nowhere"), 0_u16));
        let ourselves = greeting(1);
        for bytes in [Vec::new(), vec![0xFF; 40], long, no_address, ourselves] {
            target.packet(bytes).await.unwrap();
            let error = tell_failed(&mut told).await;
            assert!(!error.is_empty());
        }
        assert_eq!(events.try_next(), None);

        // There is room for three, and no more.
        for node in 2..=4 {
            target.packet(greeting(node)).await.unwrap();
            assert!(matches!(events.next().await, Some(MemberEvent::Up(_))));
        }
        target.packet(greeting(5)).await.unwrap();
        assert!(tell_failed(&mut told).await.contains("more members than the 3"));
        assert_eq!(events.try_next(), None);
        assert_eq!(members.members().len(), 4);
        system.shutdown(LONG).await.unwrap();
        other.shutdown(LONG).await.unwrap();
    }));
}

#[test]
fn who_comes_takes_the_place_of_one_that_is_down() {
    let network = Loopback::new();
    let (system, _node, members) = join(&network, "here", 1, |at| at.members_max(3));
    let other = System::builder().workers(1).own();
    let identity = Identity { node: NodeId(99), incarnation: Incarnation(9) };
    let hostile = Node::start(&other, network.node("hostile", identity)).unwrap();
    run(soon(async {
        let peer = hostile.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        let target: Ref<Fake> = peer.find("greenroom.membership").await.unwrap();
        let mut events = members.subscribe();
        // Nobody of them answers, so that all go down.
        for nodes in [2..=4, 5..=7, 8..=10] {
            let mut told = Vec::new();
            for node in nodes.clone() {
                target.packet(greeting(node)).await.unwrap();
            }
            while told.len() < 6 {
                told.push(match events.next().await.unwrap() {
                    MemberEvent::Up(member) => (member.identity.node.0, true),
                    MemberEvent::Down(member) => (member.identity.node.0, false),
                    other => panic!("{other:?}"),
                });
            }
            told.sort_unstable();
            let all = nodes.flat_map(|node| [(node, false), (node, true)]);
            assert_eq!(told, all.collect::<Vec<_>>());
        }
        system.shutdown(LONG).await.unwrap();
        other.shutdown(LONG).await.unwrap();
    }));
}

#[test]
fn however_many_come_they_set_no_timers_that_add_up() {
    let network = Loopback::new();
    let (system, _node, members) = join(&network, "here", 1, |at| at.period(LONG));
    let other = System::builder().workers(1).own();
    let identity = Identity { node: NodeId(999), incarnation: Incarnation(9) };
    let hostile = Node::start(&other, network.node("hostile", identity)).unwrap();
    run(soon(async {
        let peer = hostile.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        let target: Ref<Fake> = peer.find("greenroom.membership").await.unwrap();
        let mut events = members.subscribe();
        for node in 2..=100 {
            target.packet(greeting(node)).await.unwrap();
            assert!(matches!(events.next().await, Some(MemberEvent::Up(_))));
        }
        // But for those of attempts to reach them, which are over soon.
        until(|| timers(&system) < 20).await;
        system.shutdown(LONG).await.unwrap();
        other.shutdown(LONG).await.unwrap();
    }));
}

fn timers(system: &System) -> usize {
    let left = system.leftovers();
    let timers = left.iter().find_map(|line| line.strip_suffix(" timers"));
    timers.map_or(0, |count| count.parse().unwrap())
}

async fn tell_failed(events: &mut greenroom::EventStream) -> String {
    loop {
        if let Event::TellFailed { error, .. } = events.next().await.unwrap() {
            return error;
        }
    }
}
