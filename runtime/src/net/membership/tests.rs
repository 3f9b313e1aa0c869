use super::*;
use crate::net::identity::{Identity, Incarnation, NodeId};
use crate::net::loopback::Loopback;
use crate::system::System;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::{OnceLock, mpsc};

/// Hears which names are looked up.
static ASKED: OnceLock<mpsc::Sender<String>> = OnceLock::new();
/// Held while nobody answers for the slow one.
static SLOW: Mutex<()> = Mutex::new(());

fn resolver(host: &str) -> Vec<SocketAddr> {
    let _ = ASKED.get().expect("the test listens").send(host.to_owned());
    if host == "slow:1" {
        let _answers = SLOW.lock();
    }
    Vec::new()
}

#[test]
fn a_name_is_asked_for_again_but_not_while_its_answer_is_awaited() {
    let (tell, asked) = mpsc::channel();
    ASKED.set(tell).expect("one test listens");
    let silence = SLOW.lock();

    let system = System::builder().workers(1).build().unwrap();
    let identity = Identity { node: NodeId(1), incarnation: Incarnation(1) };
    let transport = Loopback::new().node("one", identity);
    let node = Node::start(&system, transport).unwrap();
    let mut membership = Membership::at("loopback:one".parse().unwrap())
        .period(Duration::from_millis(10))
        .seed_dns("loopback", "slow:1")
        .seed_dns("loopback", "quick:1");
    membership.resolver = resolver;
    let _members = membership.start(&node).unwrap();

    // Each period asks for both.
    let next = || asked.recv_timeout(Duration::from_secs(60)).expect("names are looked up");
    let (mut quick, mut slow) = (0, 0);
    while quick < 5 || slow == 0 {
        if next() == "slow:1" { slow += 1 } else { quick += 1 }
    }
    // And then five times more.
    for _ in 0..5 {
        assert_eq!(next(), "quick:1", "one thread waits for the other answer");
    }
    drop(silence);
    while next() != "slow:1" {}
}
