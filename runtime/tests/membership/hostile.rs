//! What a node says that speaks the protocol wrongly changes nothing.

use crate::joining::join;
use crate::support::{Builds, LONG, run, soon, until};
use greenroom::net::membership::{MemberEvent, Membership};
use greenroom::net::{
    Address, Connecting, Export, Identity, Incarnation, Link, Loopback, LoopbackNode, Node, NodeId,
    Transport,
};
use greenroom::{Actor, Event, Ref, System, handlers};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc;

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

/// Has the name of the real protocol, and hears what is said to it.
#[derive(Actor)]
pub(crate) struct Ear(mpsc::UnboundedSender<Vec<u8>>);

#[handlers(wire = "greenroom.membership/1")]
impl Ear {
    #[tell]
    fn packet(&mut self, bytes: Vec<u8>) {
        let _ = self.0.send(bytes);
    }
}

/// Never reaches `nowhere`, and counts how often it was to.
struct Patient(LoopbackNode, Arc<AtomicUsize>);

impl Transport for Patient {
    fn identity(&self) -> Identity {
        self.0.identity()
    }

    fn connect(&self, to: &Address) -> Connecting {
        if to.place() != "nowhere" {
            return self.0.connect(to);
        }
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(pending())
    }

    fn poll_link(&self, cx: &mut Context<'_>) -> Poll<Option<Box<dyn Link>>> {
        self.0.poll_link(cx)
    }

    fn close(&self) {
        self.0.close();
    }
}

/// A member as packets name it: node, incarnation, generation, renewals, address.
type Named = (u64, u64, u64, u8, String);

#[test]
fn however_many_a_member_asks_to_probe_few_are_looked_for() {
    const MEMBERS_MAX: usize = 3;
    let network = Loopback::new();
    let identity = |node| Identity { node: NodeId(node), incarnation: Incarnation(1) };
    let (system, asked) = (System::builder().workers(1).own(), Arc::new(AtomicUsize::new(0)));
    let transport = Patient(network.node("here", identity(1)), Arc::clone(&asked));
    let here = Node::start(&system, transport).unwrap();
    let at = Membership::at("loopback:here".parse().unwrap()).period(LONG);
    let members = at.members_max(MEMBERS_MAX).start(&here).unwrap();
    let other = System::builder().workers(1).own();
    let hostile = Node::start(&other, network.node("hostile", identity(9))).unwrap();
    run(soon(async {
        let (told, mut heard) = mpsc::unbounded_channel();
        let ear = other.spawn::<Ear>(Ear(told)).await.unwrap();
        hostile.export("greenroom.membership", Export::of(&ear)).unwrap();
        let peer = hostile.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        let target: Ref<Fake> = peer.find("greenroom.membership").await.unwrap();
        let mut events = members.subscribe();
        let me: Named = (9, 1, 1, 0, "loopback:hostile".to_owned());
        let anybody = (1_u64, 1_u64, 1_u64, 0_u8, "loopback:here");
        target.packet(postcard(&(&me, 0_u16, anybody, 6_u8))).await.unwrap();
        assert!(matches!(events.next().await, Some(MemberEvent::Up(_))));
        // What comes back says of which generation it is.
        let answer = heard.recv().await.unwrap();
        let (it, _) = postcard::take_from_bytes::<Named>(&answer).unwrap();
        assert_eq!(it.0, 1);
        for node in 1000_u64..2000 {
            let whom = (node, 1_u64, 1_u64, 0_u8, "loopback:nowhere");
            // To ask for a probe is the third of foca's messages; it has a number.
            let probe = postcard(&(&me, 0_u16, &it, 2_u8, whom, 0_u8));
            target.packet(probe).await.unwrap();
        }
        // Who is a member is looked for all the same.
        target.packet(greeting(2)).await.unwrap();
        assert!(matches!(events.next().await, Some(MemberEvent::Up(_))));
        until(|| asked.load(Ordering::Relaxed) >= 2 * MEMBERS_MAX).await;
        assert_eq!(asked.load(Ordering::Relaxed), 2 * MEMBERS_MAX);

        // Meanwhile who comes is answered.
        let third = System::builder().workers(1).own();
        let newcomer = Node::start(&third, network.node("newcomer", identity(3))).unwrap();
        let (told, mut heard) = mpsc::unbounded_channel();
        let ear = third.spawn::<Ear>(Ear(told)).await.unwrap();
        newcomer.export("greenroom.membership", Export::of(&ear)).unwrap();
        let peer = newcomer.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        let target: Ref<Fake> = peer.find("greenroom.membership").await.unwrap();
        let me: Named = (3, 1, 1, 0, "loopback:newcomer".to_owned());
        target.packet(postcard(&(&me, 0_u16, anybody, 6_u8))).await.unwrap();
        let answer = heard.recv().await.unwrap();
        let (header, _) = postcard::take_from_bytes::<(Named, u16, Named, u8)>(&answer).unwrap();
        // The eighth of foca's messages says who the members are.
        assert_eq!((header.2, header.3), (me, 7));
        for system in [system, other, third] {
            system.shutdown(LONG).await.unwrap();
        }
    }));
}

#[test]
fn a_member_that_names_others_up_and_down_has_few_of_them_come() {
    const MEMBERS_MAX: usize = 3;
    let network = Loopback::new();
    let few = |at: Membership| at.members_max(MEMBERS_MAX).period(LONG);
    let (system, _node, members) = join(&network, "here", 1, few);
    let other = System::builder().workers(1).own();
    let identity = Identity { node: NodeId(9), incarnation: Incarnation(1) };
    let hostile = Node::start(&other, network.node("hostile", identity)).unwrap();
    run(soon(async {
        let (told, mut heard) = mpsc::unbounded_channel();
        let ear = other.spawn::<Ear>(Ear(told)).await.unwrap();
        hostile.export("greenroom.membership", Export::of(&ear)).unwrap();
        let peer = hostile.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        let target: Ref<Fake> = peer.find("greenroom.membership").await.unwrap();
        let me: Named = (9, 1, 1, 0, "loopback:hostile".to_owned());
        let anybody = (1_u64, 1_u64, 1_u64, 0_u8, "loopback:here");
        let greeting = postcard(&(&me, 0_u16, anybody, 6_u8));
        // The eighth of foca's messages answers it, and says of which generation the other is.
        let mut answer = async || loop {
            let heard = heard.recv().await.unwrap();
            let (header, _) = postcard::take_from_bytes::<(Named, u16, Named, u8)>(&heard).unwrap();
            if header.3 == 7 {
                return header.0;
            }
        };
        target.packet(greeting.clone()).await.unwrap();
        let it = answer().await;
        for node in 1000_u64..1500 {
            // Alive, and then down.
            for state in [0_u8, 2] {
                // Gossip is the ninth of foca's messages; it says what one other is.
                let mut gossip = postcard(&(&me, 0_u16, &it, 8_u8));
                gossip.extend(1_u16.to_be_bytes());
                gossip.extend(postcard(&(
                    (node, 1_u64, 1_u64, 0_u8, "loopback:nowhere"),
                    0_u16,
                    state,
                )));
                target.packet(gossip).await.unwrap();
            }
        }
        // All of that was heard when the next greeting is answered.
        target.packet(greeting).await.unwrap();
        answer().await;
        assert_eq!(members.members().len(), 1 + MEMBERS_MAX);
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
