//! Sockets of the kernel's: batches, errors, and nodes that talk over them, also through a relay that
//! loses, doubles, delays, reorders and alters what it carries. Every wait has an end.

mod capture;
mod relay;

use greenroom_transports::secure::endpoint::{AssociationId, Config, Endpoint, Event};
use greenroom_transports::secure::entropy::System;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::udp::node::{Happened, Node, NotSent, Why};
use greenroom_transports::udp::socket::{Batch, Options, PathProblem, SendError, Socket};
use relay::{Relay, Rules};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::ops::ControlFlow::{Break, Continue};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

fn loopbacks() -> [SocketAddr; 2] {
    ["127.0.0.1:0", "[::1]:0"].map(|address| address.parse().expect("an address"))
}

fn socket(address: SocketAddr) -> Socket {
    Socket::bind(address, &Options::default()).expect("a port is free")
}

/// Receives until so many datagrams are there.
async fn received(socket: &Socket, count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
    let (mut batch, mut all) = (Batch::new(), Vec::new());
    let receive = async {
        while all.len() < count {
            poll_fn(|context| socket.poll_readable(context)).await.expect("the socket is there");
            socket.receive(&mut batch).expect("the socket receives");
            all.extend(batch.datagrams().map(|(from, datagram)| (from, datagram.to_vec())));
        }
    };
    tokio::time::timeout(LIMIT, receive).await.expect("the datagrams come");
    all
}

/// With the kernel's segmentation and without: the same datagrams arrive, the short last one too.
#[tokio::test]
async fn many_datagrams_go_with_one_call() {
    for address in loopbacks() {
        for offload in [true, false] {
            let sender = Socket::bind(address, &Options { offload, ..Options::default() })
                .expect("a port is free");
            let receiver = socket(address);
            assert!(offload || sender.segments_max() == 1);
            let segment = NonZeroUsize::new(1_000).expect("not zero");
            let bytes: Vec<u8> = (0..70_300_usize).map(|at| (at / 1_000) as u8).collect();
            sender.send(receiver.address(), &bytes, segment).expect("the buffer holds it");
            let all = received(&receiver, 71).await;
            assert!(all.iter().all(|(from, _)| *from == sender.address()));
            let datagrams: Vec<_> = all.into_iter().map(|(_, datagram)| datagram).collect();
            let expected: Vec<_> = bytes.chunks(1_000).map(<[u8]>::to_vec).collect();
            assert_eq!(datagrams, expected);
        }
    }
}

#[tokio::test]
async fn what_cannot_be_sent_says_why() {
    let [v4, v6] = loopbacks();
    let (sender, receiver) = (socket(v4), socket(v4));
    let long = vec![0; 65_508];
    let length = NonZeroUsize::new(long.len()).expect("not zero");
    let error = sender.send(receiver.address(), &long, length).expect_err("too long for IPv4");
    assert!(matches!(error, (0, SendError::TooBig)), "{error:?}");
    // An address of the other family is an error too, and not a panic.
    let error = sender.send(socket(v6).address(), &[0; 8], NonZeroUsize::MIN).expect_err("no way");
    assert_eq!(error.0, 0);
    assert!(Socket::bind(receiver.address(), &Options::default()).is_err(), "the address is taken");
}

#[tokio::test]
async fn a_full_buffer_takes_whole_datagrams_or_none() {
    let [v4, _] = loopbacks();
    let options = Options { buffer_bytes: 4_096, offload: false };
    let sender = Socket::bind(v4, &options).expect("a port is free");
    let receiver = socket(v4);
    let segment = NonZeroUsize::new(500).expect("not zero");
    // Loopback takes what it is given at once, so the buffer may or may not fill; either is whole.
    let sent = match sender.send(receiver.address(), &[7; 200_000], segment) {
        Ok(()) => 200_000,
        Err((sent, SendError::Full)) => sent,
        Err((_, error)) => panic!("{error}"),
    };
    assert_eq!(sent % 500, 0);
    assert!(received(&receiver, 1).await.iter().all(|(_, datagram)| datagram.len() == 500));
}

#[tokio::test]
async fn a_port_where_nobody_is_is_told_as_such() {
    let [v4, _] = loopbacks();
    let (sender, gone) = (socket(v4), socket(v4).address());
    sender.send(gone, &[1], NonZeroUsize::MIN).expect("it is sent");
    let told = async {
        loop {
            if let Some(error) = sender.path_error().expect("the queue is there") {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let told = tokio::time::timeout(LIMIT, told).await.expect("the kernel says so");
    assert_eq!(told.what, PathProblem::Unreachable);
    let mut batch = Batch::new();
    sender.receive(&mut batch).expect("the socket is as good as before");
    assert_eq!(batch.datagrams().count(), 0);
}

fn identity(host: u8) -> Identity {
    Identity::new(Key::new([host; 32]))
}

fn public(host: u8) -> PublicKey {
    identity(host).public()
}

fn node(host: u8, address: SocketAddr, since: u64) -> Node {
    let since = Duration::from_secs(1_700_000_000 + since);
    let endpoint = Endpoint::new(Config::default(), identity(host), None, since, Box::new(System));
    let mut endpoint = endpoint.expect("there is randomness");
    (1..=2).filter(|&other| other != host).for_each(|other| endpoint.allow(public(other)));
    Node::new(endpoint, socket(address))
}

/// Drives a node until an association is up.
async fn up(node: &mut Node) -> AssociationId {
    let mut found = None;
    let mut sink = |happened: Happened<'_>| match happened {
        Happened::Event(Event::Up { association, .. }) => {
            found = Some(association);
            Break(())
        }
        _ => Continue(()),
    };
    node.drive(&mut sink).await.expect("the socket is there");
    found.expect("the sink says stop when it is up")
}

async fn connected(
    a: &mut Node,
    b: &mut Node,
    through: SocketAddr,
) -> (AssociationId, AssociationId) {
    let now = a.now();
    let peer = b.endpoint().public();
    a.endpoint().connect(now, &peer, through).expect("the peer is allowed");
    tokio::time::timeout(LIMIT, async { tokio::join!(up(a), up(b)) }).await.expect("both come up")
}

#[tokio::test]
async fn two_nodes_talk() {
    for address in loopbacks() {
        let (mut a, mut b) = (node(1, address, 0), node(2, address, 0));
        let through = b.socket().address();
        let (from_a, from_b) = connected(&mut a, &mut b, through).await;
        let texts: Vec<Vec<u8>> =
            (0..500_u32).map(|n| vec![n as u8; 1 + n as usize / 50 * 100]).collect();
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        says_all(&mut a, &mut b, from_a, &texts).await;
        says_all(&mut b, &mut a, from_b, &texts).await;
    }
}

/// One sends the texts, and the other gets every one of them.
async fn says_all(a: &mut Node, b: &mut Node, association: AssociationId, texts: &[&[u8]]) {
    a.send(association, 0, texts).expect("the buffers hold it");
    let mut count = 0;
    let mut sink = |happened: Happened<'_>| {
        if let Happened::Text { number, text, .. } = happened {
            assert_eq!(text, texts[number as usize]);
            count += 1;
        }
        if count == texts.len() { Break(()) } else { Continue(()) }
    };
    let driven = tokio::time::timeout(LIMIT, b.drive(&mut sink)).await;
    driven.expect("all come").expect("the socket is there");
}

#[tokio::test]
async fn what_cannot_be_sealed_is_told_with_what_was_sent() {
    let [v4, _] = loopbacks();
    let (mut a, mut b) = (node(1, v4, 0), node(2, v4, 0));
    let through = b.socket().address();
    let (association, _) = connected(&mut a, &mut b, through).await;
    let NotSent { sent, why } = a.send(association, 9, &[b"x"]).expect_err("there is one lane");
    assert_eq!(sent, 0);
    assert!(matches!(why, Why::Sealed(_)), "{why}");
    let long = vec![0; 66_000];
    let error = a.send(association, 0, &[b"short", &long, b"behind"]).expect_err("too long");
    assert_eq!(error.sent, 1);
    assert!(matches!(error.why, Why::Socket(SendError::TooBig)), "{error}");
    let now = a.now();
    a.endpoint().close(now, association);
    assert_eq!(a.send(association, 0, &[b"x"]).expect_err("it is closed").sent, 0);
}

/// Handshake and texts through everything that a relay can do. [UDP-11] [UDP-13]
#[tokio::test]
async fn through_a_bad_network_texts_come_once_and_as_they_were() {
    for (seed, address) in loopbacks().into_iter().enumerate() {
        let rules = Rules {
            drop: 20,
            duplicate: 10,
            corrupt: 10,
            delay: Duration::from_millis(20),
            rebind_after: 0,
        };
        let (mut a, mut b) = (node(1, address, 0), node(2, address, 0));
        let mut relay = Relay::new(b.socket().address(), seed as u64, rules).await;
        let through = relay.address();
        let mut seen = BTreeSet::new();
        let talk = async {
            let (association, _) = connected(&mut a, &mut b, through).await;
            let mut next = 0_u64;
            while seen.len() < 100 {
                let texts: Vec<_> = (next..next + 10).map(u64::to_le_bytes).collect();
                let texts: Vec<&[u8]> = texts.iter().map(<[u8; 8]>::as_slice).collect();
                a.send(association, 0, &texts).expect("the buffer holds it");
                next += 10;
                let mut sink = |happened: Happened<'_>| {
                    if let Happened::Text { text, number, .. } = happened {
                        let said = u64::from_le_bytes(text.try_into().expect("whole texts alone"));
                        assert_eq!(said, number);
                        assert!(seen.insert(said), "text {said} comes twice");
                    }
                    Continue(())
                };
                let pause = Duration::from_millis(5);
                drop(tokio::time::timeout(pause, b.drive(&mut sink)).await);
            }
        };
        let limited = async { tokio::time::timeout(LIMIT, talk).await.expect("texts get through") };
        tokio::select! {
            () = limited => {}
            () = relay.run() => {}
        }
        assert!(relay.done.dropped > 0 && relay.done.duplicated > 0 && relay.done.corrupted > 0);
        capture::check(&relay.seen, &[]);
        assert!(b.endpoint().audit().rejected_in_all() > 0);
    }
}

/// [UDP-50]
#[tokio::test]
async fn a_node_behind_a_translator_that_forgot_is_followed() {
    let [v4, _] = loopbacks();
    let (mut a, mut b) = (node(1, v4, 0), node(2, v4, 0));
    let rules = Rules { rebind_after: 12, ..Rules::default() };
    let mut relay = Relay::new(b.socket().address(), 3, rules).await;
    let through = relay.address();
    let talk = async {
        let (from_a, from_b) = connected(&mut a, &mut b, through).await;
        let (mut moved, mut answered) = (false, false);
        while !(moved && answered) {
            a.send(from_a, 0, &[b"are you there?"]).expect("the buffer holds it");
            let mut sink = |happened: Happened<'_>| {
                moved |= matches!(happened, Happened::Event(Event::Moved { association, .. }) if association == from_b);
                Continue(())
            };
            drop(tokio::time::timeout(Duration::from_millis(2), b.drive(&mut sink)).await);
            if moved {
                b.send(from_b, 0, &[b"at your new place"]).expect("the buffer holds it");
            }
            let mut sink = |happened: Happened<'_>| {
                answered |= matches!(happened, Happened::Text { text: b"at your new place", .. });
                Continue(())
            };
            drop(tokio::time::timeout(Duration::from_millis(2), a.drive(&mut sink)).await);
        }
    };
    let limited = async { tokio::time::timeout(LIMIT, talk).await.expect("it is followed") };
    tokio::select! {
        () = limited => {}
        () = relay.run() => {}
    }
}

/// A node is killed and begins another life: the other is told of the end, then of the beginning.
#[tokio::test]
async fn another_life_is_noticed_at_once() {
    let [v4, _] = loopbacks();
    let (mut a, mut b) = (node(1, v4, 0), node(2, v4, 0));
    let through = b.socket().address();
    let (_, old) = connected(&mut a, &mut b, through).await;
    drop(a);
    let mut a = node(1, v4, 1);
    let now = a.now();
    a.endpoint().connect(now, &public(2), through).expect("the peer is allowed");
    let mut told = Vec::new();
    let mut sink = |happened: Happened<'_>| {
        if let Happened::Event(event) = happened {
            told.push(event);
        }
        if told.len() == 2 { Break(()) } else { Continue(()) }
    };
    let both = async { tokio::join!(up(&mut a), b.drive(&mut sink)) };
    tokio::time::timeout(LIMIT, both).await.expect("both come up").1.expect("the socket is there");
    assert!(matches!(told[0], Event::Down { association, .. } if association == old), "{told:?}");
    assert!(matches!(told[1], Event::Up { peer, .. } if peer == public(1)), "{told:?}");
}
