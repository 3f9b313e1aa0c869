//! The one stream that every choice of a world comes from.
//!
//! Whatever could go one way or another is asked of [`Choices`] under a label: who runs next, how long a
//! packet takes, whether a rare path is taken. So a run can be drawn from a seed, steered by the bytes of
//! a fuzzer, enumerated, repeated from its record, and made smaller by editing that record.
//!
//! Rule 1: value 0 is always the dullest outcome (the oldest actor runs, the packet arrives at once), so
//! that a shorter record, or one with more zeros, is an easier run to understand.

use crate::sync::planted;
use crate::task::random::{below, nth};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// What a choice is about; its hash goes into the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(crate) name: &'static str,
    hash: u64,
    reads: Reads,
}

/// How the trace shows the value behind a label.
#[derive(Clone, Copy, Debug)]
enum Reads {
    Number,
    Address,
    /// Not at all: the label says everything.
    Nothing,
}

/// The host of the address below, where that is longer than a value.
const HOST: Label = Label::new("host");

impl Label {
    /// Hashes the name by FNV-1a (Fowler, Noll, Vo 1991).
    pub(crate) const fn new(name: &'static str) -> Self {
        let bytes = name.as_bytes();
        let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        Self { name, hash, reads: Reads::Number }
    }

    /// Of an address.
    pub(crate) const fn of_address(name: &'static str) -> Self {
        Self { reads: Reads::Address, ..Self::new(name) }
    }

    /// Of what says everything by its name.
    pub(crate) const fn of_event(name: &'static str) -> Self {
        Self { reads: Reads::Nothing, ..Self::new(name) }
    }
}

/// Where choices come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A generator.
    Seed(u64),
    /// Somebody else's bytes, as many for each choice as it takes to name every outcome; zeros when they are used up.
    Bytes(Vec<u8>),
    /// The record of an earlier run; zeros when it is used up.
    Record(Vec<u64>),
    /// A path through the tree of all choices, in which noise is always zero.
    Path(Path),
}

/// A path through the tree of all choices, depth first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    /// What was chosen, of how many.
    steps: Vec<(u64, u64)>,
    at: usize,
}

impl Path {
    fn next(&mut self, count: u64) -> u64 {
        if self.at == self.steps.len() {
            self.steps.push((0, count));
        }
        let (value, _) = self.steps[self.at];
        self.at += 1;
        value
    }

    /// Turns to the next path; `false` when all were taken.
    pub(crate) fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((value, count)) = self.steps.pop() {
            if value + 1 < count {
                self.steps.push((value + 1, count));
                return true;
            }
        }
        false
    }
}

/// How many bytes name each of so many outcomes.
fn width(count: u64) -> usize {
    let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
    bits.div_ceil(8) as usize
}

/// A line of the trace: a choice, or what happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    label: Label,
    value: u64,
    /// Of how many it was chosen; zero if it happened.
    count: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Choices {
    source: Source,
    used: usize,
    /// Of somebody else's bytes.
    read: usize,
    record: Vec<u64>,
    /// All that the hash was made of, when somebody wants to read it.
    trace: Option<Vec<Traced>>,
    hash: u64,
}

impl Choices {
    /// Choices from `source`, which are `traced` for somebody to read.
    pub(crate) fn new(source: Source, traced: bool) -> Self {
        Self { source, used: 0, read: 0, record: Vec::new(), trace: traced.then(Vec::new), hash: 0 }
    }

    /// A number below `count`; 0 if that is not above 1.
    pub(crate) fn pick(&mut self, label: Label, count: usize) -> usize {
        if count <= 1 {
            return 0;
        }
        let value = self.draw(label, count as u64, true);
        usize::try_from(value).unwrap_or(0)
    }

    /// Whether something happens that does `part` times in `whole`: not if `part` is zero, certainly if it is `whole`.
    pub(crate) fn chance(&mut self, label: Label, part: u64, whole: u64) -> bool {
        if part == 0 || whole == 0 {
            return false;
        }
        match &self.source {
            // The last values stand for what is rare, because the dullest outcome is the first.
            Source::Seed(_) | Source::Bytes(_) => {
                let drawn = self.raw(whole);
                self.note(label, u64::from(drawn >= whole.saturating_sub(part)), 2) == 1
            }
            // It has its place in the record, and there is no path without it.
            Source::Record(_) | Source::Path(_) if part >= whole => {
                self.raw(2);
                self.note(label, 1, 2) == 1
            }
            Source::Record(_) | Source::Path(_) => self.draw(label, 2, true) == 1,
        }
    }

    /// A number below `count` that only spreads things out: no path is tried for each.
    pub(crate) fn noise(&mut self, label: Label, count: u64) -> u64 {
        if count <= 1 { 0 } else { self.draw(label, count, false) }
    }

    fn draw(&mut self, label: Label, count: u64, branches: bool) -> u64 {
        let value = match &mut self.source {
            Source::Path(path) if branches => path.next(count),
            Source::Path(_) => 0,
            _ => self.raw(count),
        };
        self.note(label, value, count)
    }

    /// A number below `count`, not yet noted.
    fn raw(&mut self, count: u64) -> u64 {
        let used = self.used;
        self.used += 1;
        match &mut self.source {
            Source::Seed(seed) => below(nth(*seed, used as u64), count),
            Source::Bytes(bytes) => {
                let mut word = [0; 8];
                let rest = bytes.get(self.read..).unwrap_or_default();
                let width = width(count);
                for (to, from) in word[..width].iter_mut().zip(rest) {
                    *to = *from;
                }
                self.read += width;
                u64::from_le_bytes(word) % count
            }
            Source::Record(record) => record.get(used).map_or(0, |value| value % count),
            Source::Path(_) => 0,
        }
    }

    fn note(&mut self, label: Label, value: u64, count: u64) -> u64 {
        self.record.push(value);
        self.trace(Traced { label, value, count });
        let label = planted!("sim-label-unhashed": label.hash => 0);
        self.mix(label ^ value ^ count.rotate_left(32));
        value
    }

    /// Takes what happened into the trace and its hash.
    pub(crate) fn fold(&mut self, label: Label, what: u64) {
        self.trace(Traced { label, value: what, count: 0 });
        self.mix(label.hash ^ what);
    }

    /// As [`Choices::fold`], of bytes, which are one number there.
    pub(crate) fn fold_bytes(&mut self, label: Label, bytes: &[u8]) {
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        self.fold(label, words.fold(bytes.len() as u64, mixed));
    }

    /// As [`Choices::fold`], of an address, by a label for those.
    pub(crate) fn fold_address(&mut self, label: Label, at: SocketAddr) {
        let [high, low] = at.port().to_be_bytes();
        let [a, b, c, d] = match at.ip() {
            IpAddr::V4(host) => host.octets(),
            IpAddr::V6(host) => {
                self.fold_bytes(HOST, &host.octets());
                [0; 4]
            }
        };
        self.fold(label, u64::from_be_bytes([0, 0, a, b, c, d, high, low]));
    }

    /// As [`Choices::fold`], of an event.
    pub(crate) fn fold_event(&mut self, label: Label) {
        self.fold(label, 0);
    }

    fn trace(&mut self, line: Traced) {
        if let Some(trace) = &mut self.trace {
            trace.push(line);
        }
    }

    fn mix(&mut self, what: u64) {
        self.hash = mixed(self.hash, what);
    }

    /// The hash of all that was chosen and folded in.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// All that was chosen.
    pub(crate) fn record(&self) -> &[u64] {
        &self.record
    }

    /// All that was chosen and folded in, of a run that is traced.
    pub(crate) fn take_trace(&mut self) -> Vec<Traced> {
        self.trace.take().unwrap_or_default()
    }

    /// The path taken, of a run that enumerates.
    pub(crate) fn take_path(&mut self) -> Option<Path> {
        match &mut self.source {
            Source::Path(path) => Some(std::mem::take(path)),
            Source::Seed(_) | Source::Bytes(_) | Source::Record(_) => None,
        }
    }
}

/// The hash of what had `hash`, and of one more number.
fn mixed(hash: u64, what: u64) -> u64 {
    let mixed = (hash ^ what).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 29
}

impl PartialEq for Traced {
    fn eq(&self, other: &Self) -> bool {
        let parts = |line: &Self| (line.label.hash, line.value, line.count);
        parts(self) == parts(other)
    }
}

impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.label)?;
        match self.label.reads {
            Reads::Number => write!(f, " {}", self.value)?,
            Reads::Address => {
                let [_, _, a, b, c, d, high, low] = self.value.to_be_bytes();
                let port = u16::from_be_bytes([high, low]);
                write!(f, " {}", SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port))?;
            }
            Reads::Nothing => {}
        }
        if self.count > 0 { write!(f, " of {}", self.count) } else { Ok(()) }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests;
