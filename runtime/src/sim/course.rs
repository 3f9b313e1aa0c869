//! What the trace tells of each packet: who sent it, where to, what it carried, and what became of it.

use super::choice::{Choices, Label};
use super::fabric::nanos;
use super::mark::Ecn;
use super::rule::Fate;
use crate::sync::planted;
use std::net::{IpAddr, SocketAddr};

const FROM: Label = Label::new("sent from");
const SAYS: Label = Label::new("said to be from");
const TO: Label = Label::new("sent to");
const MARK: Label = Label::new("marked");
const SENT: Label = Label::new("bytes sent");
const MADE: Label = Label::new("bytes made of them");
const LATER: Label = Label::new("sent later by");
const MORE: Label = Label::new("sent more of them");
const DROPPED: Label = Label::new("dropped");
const ARRIVED: Label = Label::new("arrived at");
const LEN: Label = Label::new("bytes arrived");

/// Why a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    /// Its socket has no room for it.
    NoRoom = 1,
    /// Its link is cut.
    Cut,
    /// A rule wants it so.
    ByRule,
    TooLong,
    /// Too much waits for the link.
    Overflow,
    ByChance,
    /// It would take for ever.
    Never,
    /// Nobody listens where it arrives.
    Unclaimed,
    /// Where it arrives is no room for it.
    PortFull,
}

/// A socket was given a packet.
pub(super) fn offered(
    [from, says, to]: [SocketAddr; 3],
    ecn: Ecn,
    bytes: &[u8],
    choices: &mut Choices,
) {
    address(FROM, from, choices);
    if says != from {
        address(SAYS, says, choices);
    }
    address(TO, to, choices);
    choices.fold(MARK, ecn as u64);
    choices.fold_bytes(SENT, planted!("sim-packet-untraced": bytes => &bytes[..0]));
}

/// The rules of its link have made something of a packet.
pub(super) fn judged(fate: &Fate, choices: &mut Choices) {
    if let Some(bytes) = &fate.bytes {
        choices.fold_bytes(MADE, bytes);
    }
    if !fate.later.is_zero() {
        choices.fold(LATER, nanos(fate.later));
    }
    if fate.more > 0 {
        choices.fold(MORE, fate.more as u64);
    }
}

/// A packet, the one that was told of last, goes no further.
pub(super) fn dropped(why: Dropped, choices: &mut Choices) {
    planted!("sim-drop-untraced": choices.fold(DROPPED, why as u64) => ());
}

/// A packet of that length has arrived, and goes into a port if it was not `dropped`.
pub(super) fn arrived(to: SocketAddr, len: usize, dropped: Option<Dropped>, choices: &mut Choices) {
    address(ARRIVED, to, choices);
    choices.fold(LEN, len as u64);
    if let Some(why) = dropped {
        self::dropped(why, choices);
    }
}

fn address(label: Label, at: SocketAddr, choices: &mut Choices) {
    let host = match at.ip() {
        IpAddr::V4(host) => host.to_ipv6_mapped(),
        IpAddr::V6(host) => host,
    };
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&host.octets());
    bytes[16..].copy_from_slice(&at.port().to_be_bytes());
    choices.fold_bytes(label, &bytes);
}
