//! What the trace tells of each packet: who sent it, where to, what it carried, and what became of it.

use super::choice::{Choices, Label};
use super::fabric::nanos;
use super::mark::Ecn;
use super::rule::Fate;
use crate::sync::planted;
use std::net::SocketAddr;

const FROM: Label = Label::of_address("sent from");
const SAYS: Label = Label::of_address("said to be from");
const TO: Label = Label::of_address("sent to");
const MARK: Label = Label::new("marked");
const SENT: Label = Label::new("bytes sent");
const MADE: Label = Label::new("bytes made of them");
const LATER: Label = Label::new("sent later by");
const MORE: Label = Label::new("sent more of them");
const ARRIVED: Label = Label::of_address("arrived at");
const LEN: Label = Label::new("bytes arrived");

/// Why a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    /// Its socket has no room for it.
    NoRoom,
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

impl Dropped {
    const fn label(self) -> Label {
        match self {
            Self::NoRoom => const { Label::of_event("dropped: its socket has no room") },
            Self::Cut => const { Label::of_event("dropped: its link is cut") },
            Self::ByRule => const { Label::of_event("dropped: a rule wants it so") },
            Self::TooLong => const { Label::of_event("dropped: it is too long for its link") },
            Self::Overflow => const { Label::of_event("dropped: too much waits for its link") },
            Self::ByChance => const { Label::of_event("dropped: by chance") },
            Self::Never => const { Label::of_event("dropped: it would take for ever") },
            Self::Unclaimed => const { Label::of_event("dropped: nobody listens") },
            Self::PortFull => const { Label::of_event("dropped: its port is full") },
        }
    }
}

/// A socket was given a packet.
pub(super) fn offered(
    [from, says, to]: [SocketAddr; 3],
    ecn: Ecn,
    bytes: &[u8],
    choices: &mut Choices,
) {
    choices.fold_address(FROM, from);
    if says != from {
        choices.fold_address(SAYS, says);
    }
    choices.fold_address(TO, to);
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

/// A packet goes no further: the one that was told of last, but for those that its rules have sent themselves meanwhile.
pub(super) fn dropped(why: Dropped, choices: &mut Choices) {
    planted!("sim-drop-untraced": choices.fold_event(why.label()) => ());
}

/// A packet of that length has arrived, and goes into a port if it was not `dropped`.
pub(super) fn arrived(to: SocketAddr, len: usize, dropped: Option<Dropped>, choices: &mut Choices) {
    choices.fold_address(ARRIVED, to);
    choices.fold(LEN, len as u64);
    if let Some(why) = dropped {
        self::dropped(why, choices);
    }
}
