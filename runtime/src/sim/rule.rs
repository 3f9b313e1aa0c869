//! Rules for the packets of one link, which a test makes up: each is asked about every packet, in the order in which
//! they were added.

use super::choice::{Choices, Label};
use super::mark::Ecn;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

const BIT: Label = Label::new("bit");
const BITS: Label = Label::new("bits");
const LEN: Label = Label::new("cut to");

/// By chance so many bits in a row are flipped at most.
const BITS_MAX: u64 = 8;

/// So many more of one packet arrive at most.
const MORE_MAX: usize = 1000;

/// A packet as a [rule](super::World::add_rule) sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// When it was sent, by the world's time.
    pub at: Duration,
    /// The sender's address, as seen from outside of its network.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
    /// What it is marked with.
    pub ecn: Ecn,
    /// What it carries, as the rules before have left it.
    pub bytes: &'a [u8],
}

/// What a [rule](super::World::add_rule) wants of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// As if there were no such rule.
    Pass,
    /// It arrives so much later than it would; not at all, if that is for ever.
    Deliver(Duration),
    /// It does not arrive. No further rule is asked.
    Drop,
    /// So many more of it arrive, a thousand at most, each as late as chance will have it.
    Duplicate(usize),
    /// So many bits in a row are flipped; which, is the world's choice. All of them, in a packet that has no more.
    Corrupt(usize),
    /// Of its bytes, no more than the first so many arrive.
    Cut(usize),
}

/// What the rules have made of a packet.
#[derive(Debug, Default)]
pub(super) struct Fate {
    /// What it carries from now on, if that is not what it carried.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) later: Duration,
    pub(super) more: usize,
}

/// The rules of a link.
#[derive(Default)]
pub(super) struct Rules(Vec<Box<dyn Rule>>);

/// What is asked about each packet.
pub(super) trait Rule: FnMut(&Packet<'_>) -> Verdict + Send {}

impl<F: FnMut(&Packet<'_>) -> Verdict + Send> Rule for F {}

impl Rules {
    pub(super) fn add(&mut self, rule: Box<dyn Rule>) {
        self.0.push(rule);
    }

    /// Puts rules in front of those that were added meanwhile.
    pub(super) fn put_back(&mut self, mut rules: Self) {
        rules.0.append(&mut self.0);
        *self = rules;
    }

    /// What they make of a packet, of which `flip` flips so many bits; `None` if it is dropped. The caller has no lock:
    /// they are the user's.
    pub(super) fn judge(
        &mut self,
        packet: &Packet<'_>,
        mut flip: impl FnMut(&mut [u8], usize),
    ) -> Option<Fate> {
        let mut fate = Fate::default();
        for rule in &mut self.0 {
            let bytes = fate.bytes.as_deref().unwrap_or(packet.bytes);
            match rule(&Packet { bytes, ..*packet }) {
                Verdict::Pass => {}
                Verdict::Deliver(later) => fate.later = fate.later.saturating_add(later),
                Verdict::Drop => return None,
                Verdict::Duplicate(more) => {
                    fate.more = (fate.more + more.min(MORE_MAX)).min(MORE_MAX);
                }
                Verdict::Corrupt(bits) if bits > 0 && !bytes.is_empty() => {
                    let mut bytes = bytes.to_vec();
                    flip(&mut bytes, bits);
                    fate.bytes = Some(bytes);
                }
                Verdict::Cut(len) if len < bytes.len() => fate.bytes = Some(bytes[..len].to_vec()),
                Verdict::Corrupt(_) | Verdict::Cut(_) => {}
            }
        }
        Some(fate)
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({})", self.0.len())
    }
}

/// Damages what has at least one byte: flips a few bits in a row, or cuts something off.
pub(super) fn damage(bytes: &mut Vec<u8>, choices: &mut Choices) {
    match choices.noise(BITS, BITS_MAX + 1) {
        BITS_MAX => {
            let len = choices.noise(LEN, bytes.len() as u64);
            bytes.truncate(usize::try_from(len).unwrap_or(0));
        }
        more => flip(bytes, 1 + more, choices),
    }
}

/// Flips so many bits in a row, at a place of the world's choice.
pub(super) fn flip(bytes: &mut [u8], bits: u64, choices: &mut Choices) {
    let all = bytes.len() as u64 * 8;
    let bits = bits.min(all);
    let first = choices.noise(BIT, all - bits + 1);
    for bit in first..first + bits {
        let place = usize::try_from(bit / 8).unwrap_or(0);
        bytes[place] ^= 1 << (bit % 8);
    }
}
