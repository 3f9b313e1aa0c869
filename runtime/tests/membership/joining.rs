//! How nodes come to a cluster, on real systems.

use crate::support::{Builds, LONG, OwnSystem, run, soon, until};
use greenroom::System;
use greenroom::net::membership::{JoinError, MemberEvent, Members, Membership};
use greenroom::net::{ExportError, Identity, Incarnation, Loopback, Node, NodeId};
use std::time::Duration;

/// A system that is a node at that place, and takes part as `membership` makes it.
pub(crate) fn join(
    network: &Loopback,
    place: &str,
    number: u64,
    membership: impl FnOnce(Membership) -> Membership,
) -> (OwnSystem, Node, Members) {
    let system = System::builder().workers(1).own();
    let identity = Identity { node: NodeId(number), incarnation: Incarnation(number) };
    let transport = network.node(place, identity);
    let at = Membership::at(transport.address()).period(Duration::from_millis(50));
    let node = Node::start(&system, transport).unwrap();
    let members = membership(at).start(&node).unwrap();
    (system, node, members)
}

/// With so long a period that a worker that has no processor for seconds is not taken for down.
fn slow(membership: Membership) -> Membership {
    membership.period(Duration::from_millis(500))
}

/// Ends a system that looks names up, which may go on for a moment: nothing ends a call that blocks.
async fn end(system: &OwnSystem) {
    system.shutdown(LONG).await.unwrap();
    until(|| system.leftovers().is_empty()).await;
}

#[test]
fn nodes_are_found_by_a_name_in_the_dns() {
    let network = Loopback::new();
    let (here, _node, members) = join(&network, "127.0.0.1:7001", 1, slow);
    run(soon(async {
        let mut events = members.subscribe();
        let (there, node, others) =
            join(&network, "elsewhere:1", 2, |at| slow(at).seed_dns("loopback", "localhost:7001"));
        let Some(MemberEvent::Up(member)) = events.next().await else { panic!("it comes up") };
        assert_eq!((member.identity, member.address.place()), (node.identity(), "elsewhere:1"));
        assert_eq!(members.members(), others_with(&others, &members));
        end(&there).await;
        assert!(matches!(events.next().await, Some(MemberEvent::Down(_))));
        here.shutdown(LONG).await.unwrap();
        assert_eq!(events.next().await, None);
    }));
}

/// What both should know.
fn others_with(one: &Members, other: &Members) -> Vec<greenroom::net::membership::Member> {
    vec![other.me().clone(), one.me().clone()]
}

#[test]
fn a_name_that_no_resolver_takes_keeps_nobody_out() {
    let network = Loopback::new();
    // A label is missing, so that nobody is asked: a resolver may take many seconds to say no.
    let (here, _node, members) =
        join(&network, "one:1", 1, |at| slow(at).seed_dns("loopback", "no..name:1"));
    let (there, _other, _) =
        join(&network, "two:1", 2, |at| slow(at).seed("loopback:one:1".parse().unwrap()));
    run(soon(async {
        let mut events = members.subscribe();
        if members.members().len() < 2 {
            assert!(matches!(events.next().await, Some(MemberEvent::Up(_))));
        }
        end(&here).await;
        there.shutdown(LONG).await.unwrap();
    }));
}

#[test]
fn a_node_takes_part_once() {
    let network = Loopback::new();
    let (system, node, members) = join(&network, "one", 1, |membership| membership);
    let again = Membership::at("loopback:one".parse().unwrap()).start(&node);
    assert!(matches!(again.unwrap_err(), JoinError::Export(ExportError::NameTaken(_))));
    run(soon(async {
        members.leave().await;
        assert_eq!(members.members(), [members.me().clone()]);
        // Who has left may come again.
        let again = Membership::at("loopback:one".parse().unwrap()).start(&node).unwrap();
        assert_eq!(again.me(), members.me());
        system.shutdown(LONG).await.unwrap();
    }));
    let late = Membership::at("loopback:one".parse().unwrap()).start(&node);
    assert!(matches!(late.unwrap_err(), JoinError::Spawn(_)));
}

#[test]
#[should_panic(expected = "at least ten milliseconds")]
fn a_period_is_not_too_short() {
    let _ = Membership::at("loopback:one".parse().unwrap()).period(Duration::ZERO);
}
