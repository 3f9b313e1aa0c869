//! A flood of first messages from addresses that are not its sender's, beside nodes at work. GREENROOM_FLOOD says how
//! many, if it is to be another number.

use crate::calls::{end, places};
use crate::stranger::{Said, ask};
use crate::{LONG, soon};
use greenroom::net::Export;
use greenroom::{Actor, Ref, handlers};
use greenroom_transports::secure::reject::Reject;
use greenroom_transports::udp::Udp;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Packets of the flood that are sent together: half of them are rejected before there are more, unless the kernel has lost
/// them. That is so when so many messages were handled meanwhile.
const PACKETS: u64 = 64;
const MESSAGES: u64 = 1_000;

/// Takes numbers, which come in order.
#[derive(Actor)]
struct Counter {
    handled: Arc<AtomicU64>,
}

#[handlers(wire = "test.counter/1")]
impl Counter {
    #[tell]
    fn count(&mut self, number: u64) {
        assert_eq!(self.handled.fetch_add(1, Ordering::Relaxed), number);
    }
    #[ask]
    fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }
}

/// Bytes that a flood has sent, and that were sent to where it seems to come from.
struct Flooded {
    sent: usize,
    answered: usize,
}

/// Sends first messages until the node has rejected so many, and answered somebody beside them: by turns with a first code that does
/// not fit, with a second one that does not, and twice without a cookie.
fn flood(node: &Udp, count: u64, handled: &AtomicU64, is_answered: &AtomicBool) -> Flooded {
    let (to, key) = (node.address(), node.public().0);
    // All of these addresses are this machine's, if it is a Linux.
    let sources: Vec<_> = (1..=250)
        .map(|host| {
            let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 1, host), 0));
            let socket = socket.or_else(|_| UdpSocket::bind("127.0.0.1:0")).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        })
        .collect();
    let said = Said { seconds: 1_700_000_000, incarnation: 1, index: 7 };
    // Of nobody whom the node knows: these are 1 and 2.
    let inits: Vec<_> = (10..=255).map(|at| ask(&[at; 32], &key, &[0; 32], said).1).collect();
    let mut flooded = Flooded { sent: 0, answered: 0 };
    let mut answer = [0; 2048];
    let seen = || (rejected(node).iter().sum::<u64>(), handled.load(Ordering::Relaxed));
    let mut before = (0, 0);
    for round in 0.. {
        if round > 0 && round % PACKETS == 0 {
            let (mut packets, mut messages) = seen();
            while packets < before.0 + PACKETS / 2 && messages < before.1 + MESSAGES {
                thread::yield_now();
                (packets, messages) = seen();
            }
            if packets >= count && is_answered.load(Ordering::Relaxed) {
                break;
            }
            before = (packets, messages);
        }
        let mut packet = inits[round as usize % inits.len()].clone();
        match round % 4 {
            0 => packet[170] ^= 1,
            1 => packet[190] ^= 1,
            _ => {}
        }
        let source = &sources[round as usize % sources.len()];
        // What the kernel has no room for is lost, as on any way.
        flooded.sent += source.send_to(&packet, to).unwrap_or(0);
        while let Ok((bytes, _)) = source.recv_from(&mut answer) {
            flooded.answered += bytes;
        }
    }
    flooded
}

/// How many it has rejected: not meant for it, with a wrong cookie, and without one or for what they say.
fn rejected(node: &Udp) -> [u64; 3] {
    let counts = |why: &[Reject]| {
        node.audit(|audit| why.iter().map(|why| audit.rejected(*why)).sum::<u64>())
    };
    let without = [Reject::Cookie, Reject::Rate, Reject::Peer];
    [counts(&[Reject::Mac1]), counts(&[Reject::Mac2]), counts(&without)]
}

/// Row 17 of the programme, but for the memory (`flood.rs`). [UDP-20] [UDP-21] [UDP-22]
#[test]
fn messages_arrive_in_order_beside_a_flood_of_spoofed_handshakes() {
    let count = std::env::var("GREENROOM_FLOOD").map_or(20_000, |count| count.parse().unwrap());
    soon(async {
        let [here, there] = places();
        let handled = Arc::new(AtomicU64::new(0));
        let counter = Counter { handled: Arc::clone(&handled) };
        let counter = there.system.spawn::<Counter>(counter).await.unwrap();
        there.node.export("counter", Export::of(&counter)).unwrap();
        let peer = here.node.connect(&there.udp.node_address()).await.unwrap();
        // It lasts as long as the connection.
        let far: Ref<Counter> = peer.find("counter").await.unwrap();
        let udp = there.udp.clone();
        let is_answered = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_answered);
        let flood = thread::spawn(move || flood(&udp, count, &handled, &seen));
        let mut told = 0;
        while !flood.is_finished() {
            far.count(told).await.unwrap();
            told += 1;
            if told % 256 == 0 {
                assert_eq!(far.handled().within(LONG).await, Ok(told), "beside the flood");
                // It would not end before.
                is_answered.store(true, Ordering::Relaxed);
            }
        }
        let flooded = flood.join().unwrap();
        assert_eq!(far.handled().within(LONG).await, Ok(told));

        let rejected = rejected(&there.udp);
        eprintln!("{rejected:?} first messages were rejected, and {told} told meanwhile");
        assert!(rejected.iter().sum::<u64>() >= count && !rejected.contains(&0), "{rejected:?}");
        assert!(flooded.answered <= flooded.sent, "{} for {}", flooded.answered, flooded.sent);
        end([here, there]).await;
    });
}
