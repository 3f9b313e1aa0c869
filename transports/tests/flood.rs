//! A flood of first messages from addresses that are not the sender's, beside an association at work. Alone in its
//! process, whose memory it measures. GREENROOM_FLOOD says how many, if it is to be another number.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod stranger;

use greenroom_transports::link::Time;
use greenroom_transports::secure::endpoint::{Config, Endpoint, Received};
use greenroom_transports::secure::entropy::System;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::secure::reject::Reject;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use stranger::{CONTROL, Said, ask, public};

const HIS: [u8; 32] = [7; 32];
const NONE: [u8; 32] = [0; 32];
const MEMORY_MAX: usize = 4 << 20;

/// Bytes of this process that are in memory; zero where the kernel does not say.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Addresses all over both families.
fn source(round: u64) -> SocketAddr {
    let mixed = round.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match round % 2 {
        0 => SocketAddr::from((Ipv4Addr::from((mixed >> 32) as u32), mixed as u16)),
        _ => {
            let address = u128::from(mixed) << 64 | u128::from(round);
            SocketAddr::from((Ipv6Addr::from(address), 7))
        }
    }
}

/// Rows 17 and 18 of the programme. [UDP-20] [UDP-21] [UDP-22] [UDP-51]
#[test]
fn a_flood_of_spoofed_handshakes_is_no_burden() {
    let count = std::env::var("GREENROOM_FLOOD").map_or(20_000, |count| count.parse().unwrap());
    let since = Duration::from_secs(1_700_000_000);
    let identity = Identity::new(Key::new([1; 32]));
    let node = Endpoint::new(Config::default(), identity, None, since, Box::new(System));
    let mut node = node.unwrap();
    node.allow(PublicKey(public(&HIS)));
    let target = node.public().0;
    let (live, honest) = (SocketAddr::from(([192, 0, 2, 7], 7)), Time::from_nanos(1));
    let said = |at: u64| Said { seconds: 1_700_000_000 + at, incarnation: 1, index: at as u32 };
    let (asking, mut init) = ask(&HIS, &target, &NONE, said(1));
    assert_eq!(node.handle(honest, live, &mut init), Received::Done);
    let him = asking.answered(&node.poll_transmit().unwrap().packet);
    node.handle(honest, live, &mut him.seal(CONTROL, 0, &[0]));
    while node.poll_transmit().is_some() {}

    // As many as anybody could make, some of them from a node that may ask.
    let inits: Vec<_> = (2..258)
        .map(|at| ask(&if at % 3 == 0 { HIS } else { [at as u8; 32] }, &target, &NONE, said(at)).1)
        .collect();
    let (before, mut most, mut bytes_in, mut bytes_out, mut talked) = (resident(), 0, 0, 0, 0);
    for round in 0..count {
        let now = Time::from_nanos(2 + round * 1_000);
        let mut packet = inits[(round % 256) as usize].clone();
        match round % 4 {
            0 => packet[170] ^= 1,
            1 => packet[190] ^= 1,
            _ => {}
        }
        bytes_in += packet.len();
        node.handle(now, source(round), &mut packet);
        while let Some(sent) = node.poll_transmit() {
            bytes_out += if sent.to == live { 0 } else { sent.packet.len() };
        }
        if round % 64 == 0 {
            let received = node.handle(now, live, &mut him.seal(0, talked, b"at work"));
            assert!(matches!(received, Received::Text { .. }), "{received:?}");
            talked += 1;
        }
        if round % 1_024 == 0 {
            most = most.max(resident());
        }
    }
    let grown = most.max(resident()).saturating_sub(before);
    eprintln!("{count} first messages, {talked} texts between them: {grown} bytes more in memory");
    assert!(grown <= MEMORY_MAX, "{grown} bytes more are in memory");
    assert!(bytes_out <= bytes_in, "{bytes_out} out for {bytes_in} in");
    let rejected =
        [Reject::Mac1, Reject::Mac2, Reject::Cookie].map(|why| node.audit().rejected(why));
    assert!(rejected[0] >= count / 4 && rejected[1] > 0 && rejected[2] > count / 4, "{rejected:?}");
    // All is as before a second after it.
    let later = Time::from_nanos(2 + count * 1_000) + Duration::from_secs(1);
    node.handle_timeout(later);
    let (asking, mut init) = ask(&HIS, &target, &NONE, said(1_000));
    assert_eq!(node.handle(later, live, &mut init), Received::Done);
    asking.answered(&node.poll_transmit().unwrap().packet);
}
