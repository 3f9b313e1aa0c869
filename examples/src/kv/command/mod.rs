//! The commands: one table says for each how many words it has, which of them are keys, where it runs, and how the
//! replies of several shards become one.

mod show;
mod table;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use super::store::{Args, Run};
pub(crate) use show::answer as answer_command;
pub(crate) use table::TABLE;

/// Properties of a command, as `COMMAND` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    pub(crate) const WRITE: Self = Self(1);
    pub(crate) const READONLY: Self = Self(1 << 1);
    /// Refused while memory is short.
    pub(crate) const DENYOOM: Self = Self(1 << 2);
    pub(crate) const PUBSUB: Self = Self(1 << 3);
    pub(crate) const NOSCRIPT: Self = Self(1 << 4);
    pub(crate) const LOADING: Self = Self(1 << 5);
    pub(crate) const STALE: Self = Self(1 << 6);
    pub(crate) const FAST: Self = Self(1 << 7);
    pub(crate) const NO_AUTH: Self = Self(1 << 8);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Which words are keys: from `first` to `last` (negative: counted from the end) in steps; `first` 0 means none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) step: i32,
}

/// How the replies of several shards become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Integers are added.
    Sum,
    /// The first error, or else the first reply.
    First,
    /// Arrays become one array.
    Concat,
    /// Arrays of one value per key are put back in the order of the keys.
    Values,
    /// Any reply that is not a null.
    Any,
}

/// A command that the connection itself answers, or has the broker answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Command,
    Config,
    Info,
    Select,
    Quit,
    Reset,
    Time,
    Publish,
    Subscribe,
    Unsubscribe,
    Psubscribe,
    Punsubscribe,
    Pubsub,
    Multi,
    Exec,
    Discard,
    Watch,
    Unwatch,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// On the connection.
    Own(Own),
    /// On the shard of its keys, which must all be on the same one.
    Keyed(Run),
    /// On each shard that has one of its keys.
    Split(Run, Merge),
    /// On every shard.
    All(Run, Merge),
    /// On the shard its cursor names.
    Cursor(Run),
}

/// One command.
#[derive(Debug)]
pub(crate) struct Spec {
    /// Its name in lower case.
    pub(crate) name: &'static str,
    /// How many words it has, its name included; negative: at least so many.
    pub(crate) arity: i32,
    pub(crate) flags: Flags,
    pub(crate) keys: Keys,
    pub(crate) action: Action,
    /// The group it is documented in.
    pub(crate) group: &'static str,
    pub(crate) summary: &'static str,
}

impl Spec {
    /// Returns its work on a shard, if it has any.
    pub(crate) fn run(&self) -> Option<Run> {
        match self.action {
            Action::Keyed(run)
            | Action::Split(run, _)
            | Action::All(run, _)
            | Action::Cursor(run) => Some(run),
            Action::Own(_) => None,
        }
    }

    pub(crate) fn needs_memory(&self) -> bool {
        self.flags.has(Flags::DENYOOM)
    }

    /// Returns whether a command of `words` words is well formed.
    pub(crate) fn accepts(&self, words: usize) -> bool {
        let least = usize::try_from(self.arity.unsigned_abs()).unwrap_or(usize::MAX);
        if self.arity < 0 { words >= least } else { words == least }
    }

    /// Returns the first word that is a key; nothing if none is.
    pub(crate) fn first_key<'a>(&self, args: Args<'a>) -> &'a [u8] {
        let first = usize::try_from(self.keys.first).unwrap_or(0);
        if first == 0 { &[] } else { args.get(first) }
    }

    /// Returns the words that are keys.
    pub(crate) fn keys<'a>(&self, args: Args<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let len = i32::try_from(args.len()).unwrap_or(i32::MAX);
        let last = if self.keys.last < 0 { len + self.keys.last } else { self.keys.last };
        let step = usize::try_from(self.keys.step.max(1)).unwrap_or(1);
        let end = if self.keys.first == 0 { 0 } else { len.min(last + 1) };
        (self.keys.first..end)
            .step_by(step)
            .filter_map(move |index| usize::try_from(index).ok().map(|index| args.get(index)))
    }
}

/// Longest name of a command.
const NAME_BYTES_MAX: usize = 16;
/// Slots of the name index: a power of two, sparse enough for one look on average.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 9;

/// The table, found by name without a comparison per command.
static INDEX: LazyLock<Vec<Option<(u128, &'static Spec)>>> = LazyLock::new(|| {
    let mut slots = vec![None; SLOTS];
    for spec in TABLE {
        let word = word_of(spec.name.as_bytes());
        let mut at = slot(word);
        while slots[at].is_some() {
            at = (at + 1) % SLOTS;
        }
        slots[at] = Some((word, spec));
    }
    slots
});

/// Finds a command by its name, in any case.
pub(crate) fn find(name: &[u8]) -> Option<&'static Spec> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let word = word_of(name);
    let mut at = slot(word);
    while let Some((its_word, spec)) = INDEX[at] {
        // The length beside it: what fills up a word may stand in a name, too.
        if its_word == word && spec.name.len() == name.len() {
            return Some(spec);
        }
        at = (at + 1) % SLOTS;
    }
    None
}

/// Returns a name of up to 16 bytes as one word, in which upper and lower case are alike, and nothing else that is like
/// a letter.
fn word_of(name: &[u8]) -> u128 {
    let mut bytes = [0; NAME_BYTES_MAX];
    bytes[..name.len()].copy_from_slice(name);
    u128::from_le_bytes(bytes) | u128::from_le_bytes([b'a' ^ b'A'; NAME_BYTES_MAX])
}

/// Mixes a name.
fn slot(word: u128) -> usize {
    let (low, high) = (word as u64, (word >> 64) as u64);
    let mixed = (low ^ high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - SLOT_BITS)) as usize
}
