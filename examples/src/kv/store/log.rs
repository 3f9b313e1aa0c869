//! Commands as bytes: what a shard keeps in its journal, and runs again when it starts.
//!
//! ```text
//! time (i64)  then for each command: database (u8)  words (u32)  then for each word: length (u32)  bytes
//! ```
//!
//! All numbers are little-endian. A command is there if it changed something, with the words that it came with and
//! the time at which it ran, so running it again does the same. A whole shard is written in the same form, as the
//! commands that make it anew.

use super::db::NEVER;
use super::value::Value;
use super::{Args, Shard};
use crate::kv::command::find;
use crate::kv::resp::{Proto, Reply, Span, push_integer};

/// Commands to be kept.
#[derive(Debug, Default)]
pub(crate) struct Log {
    bytes: Vec<u8>,
}

impl Log {
    /// Adds a command that ran at `now`; all commands between two calls of [`Log::take`] run at one time.
    pub(super) fn push<'a>(
        &mut self,
        now: i64,
        db: usize,
        words: impl ExactSizeIterator<Item = &'a [u8]>,
    ) {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&now.to_le_bytes());
        }
        self.bytes.push(u8::try_from(db).unwrap_or(u8::MAX));
        self.number(words.len());
        for word in words {
            self.number(word.len());
            self.bytes.extend_from_slice(word);
        }
    }

    /// Takes the commands out, if there are any.
    fn take(&mut self) -> Option<Vec<u8>> {
        (!self.bytes.is_empty()).then(|| std::mem::take(&mut self.bytes))
    }

    fn number(&mut self, number: usize) {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }
}

/// Why commands cannot be run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LogError {
    #[error("the kept commands are damaged at byte {0}")]
    Damaged(usize),
    #[error("the command kept at byte {0} is unknown to this version of kv")]
    Unknown(usize),
}

impl Shard {
    /// Keeps the commands that change something from now on.
    pub(crate) fn begin_log(&mut self) {
        self.log = Some(Log::default());
    }

    /// Takes out the commands that changed something since the last call.
    pub(crate) fn take_log(&mut self) -> Option<Vec<u8>> {
        self.log.as_mut()?.take()
    }

    /// Runs kept commands again.
    ///
    /// # Errors
    /// [`LogError`] at the first that cannot be; those before it have run.
    pub(crate) fn replay(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        let mut rest = bytes;
        let at = |rest: &[u8]| bytes.len() - rest.len();
        let time = take(&mut rest).ok_or(LogError::Damaged(0))?;
        self.set_now(i64::from_le_bytes(time));
        let (mut spans, mut scratch) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let begun = rest;
            let command = take_command(&mut rest, &mut spans);
            let db = command.ok_or(LogError::Damaged(at(begun)))?;
            let args = Args::new(begun, &spans);
            let known = find(args.get(0)).filter(|spec| spec.run().is_some());
            let spec = known.ok_or(LogError::Unknown(at(begun)))?;
            scratch.clear();
            self.execute(spec, db, args, &mut Reply::new(&mut scratch, Proto::Resp2));
        }
        Ok(())
    }

    /// Returns the commands that make this shard anew.
    pub(crate) fn dump(&self) -> Vec<u8> {
        let mut log = Log::default();
        // The time is there even if there is no key.
        log.bytes.extend_from_slice(&self.now.to_le_bytes());
        for (db, keys) in self.dbs.iter().enumerate() {
            for entry in keys.iter().filter(|entry| entry.expires > self.now) {
                let (name, words) = words_of(&entry.value);
                let key: &[u8] = &entry.key;
                let words: Vec<&[u8]> =
                    [name, key].into_iter().chain(words.iter().map(AsRef::as_ref)).collect();
                log.push(self.now, db, words.into_iter());
                if entry.expires != NEVER {
                    let mut expires = Vec::new();
                    push_integer(&mut expires, entry.expires);
                    log.push(self.now, db, [b"pexpireat", key, &expires].into_iter());
                }
            }
        }
        log.bytes
    }
}

/// Returns the command that makes a value, and its words behind the key.
fn words_of(value: &Value) -> (&'static [u8], Vec<Box<[u8]>>) {
    let mut words: Vec<Box<[u8]>> = Vec::new();
    match value {
        Value::Text(text) => (b"set", vec![text.as_slice().into()]),
        Value::Number(number) => {
            let mut text = Vec::new();
            push_integer(&mut text, *number);
            (b"set", vec![text.into()])
        }
        Value::List(list) => {
            words.extend(list.items().iter().cloned());
            (b"rpush", words)
        }
        Value::Hash(fields) => {
            fields.for_each(|name, value| words.extend([name.into(), value.clone()]));
            (b"hset", words)
        }
        Value::Set(members) => {
            members.for_each(|name, ()| words.push(name.into()));
            (b"sadd", words)
        }
    }
}

/// Takes one command off the front, and says where its words lie in what `rest` was; returns its database.
fn take_command(rest: &mut &[u8], spans: &mut Vec<Span>) -> Option<usize> {
    let whole = rest.len();
    let [db] = take::<1>(rest)?;
    let words = u32::from_le_bytes(take(rest)?);
    spans.clear();
    for _ in 0..words {
        let len = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?;
        let start = whole - rest.len();
        *rest = rest.get(len..)?;
        spans.push(Span::new(start, start + len));
    }
    (usize::from(db) < super::DATABASES).then_some(usize::from(db))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(*first)
}
