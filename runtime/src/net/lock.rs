//! The committed record of what goes over the wire, and what changes mean for nodes that run the old program.
//!
//! During a rolling upgrade old and new nodes talk to each other. A file beside the sources, `wire.lock`, says
//! what the protocols looked like when it was last written; a test compares it with the program:
//!
//! ```no_run
//! # use greenroom::{Actor, handlers};
//! # #[derive(Actor)]
//! # struct Book;
//! # #[handlers(wire = "acme.book/1")]
//! # impl Book {}
//! use greenroom::net::{Manifest, lock};
//!
//! // In a test:
//! lock::assert_unchanged("wire.lock", &[Manifest::of::<Book>()]);
//! ```
//!
//! Run with `GREENROOM_WIRE_LOCK=write`, that test writes the file, unless a change would break an upgrade;
//! with `GREENROOM_WIRE_LOCK=break` it writes it all the same.
//!
//! The file also says what is inside of the types that messages have, as far as their bytes depend on it:
//!
//! ```text
//! acme.book/3 postcard
//!     ask place(order: Order, by: Trader) -> u64
//!         order.price: u64
//!         order.lines[].count: u32
//!         by: opaque
//! ```
//!
//! A change there is in the bytes, but not in the [schema](Manifest) that nodes compare: they would read each other's messages
//! wrongly. The test says so. What is `opaque` stands for any change inside of it: `serde` says nothing about it, or another codec
//! than [`Postcard`](super::Postcard) has it. [`Shape`](super::Shape) says how it is looked at.

mod file;
mod inside;

use super::manifest::Manifest;
use file::{Locked, Message, Protocol};
use std::fmt;
use std::path::Path;

/// The variable that has the file written.
const VARIABLE: &str = "GREENROOM_WIRE_LOCK";

/// What to do about a change that nodes do not see, as their schemas are the same.
const UNNOTICED: &str =
    "nodes take one for the other and misread it: write the parameter or its type by another name";

/// What a change of the wire means while old and new nodes run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing that was sent before is refused.
    Harmless,
    /// Old nodes send something that new ones refuse, unless they migrate it; and what new ones send of it old ones refuse until
    /// they are upgraded, so that a message which both need meanwhile is better added under a name of its own.
    NeedsMigration,
    /// Old and new nodes refuse each other's messages.
    Breaks,
}

/// One difference between the file and the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it means.
    pub effect: Effect,
    /// What it is, and what to do about it.
    pub text: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self.effect {
            Effect::Harmless => "harmless",
            Effect::NeedsMigration => "needs a migration",
            Effect::Breaks => "breaks a rolling upgrade",
        };
        write!(f, "{effect}: {}", self.text)
    }
}

/// Why the file does not stand for the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file cannot be read or written.
    #[error("{path}: {source}; {VARIABLE}=write writes it")]
    File {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not one of these.
    #[error("line {line} is not of a wire.lock: {text:?}")]
    Unreadable {
        /// Counted from one.
        line: usize,
        /// What it says.
        text: String,
    },
    /// The program is another one.
    #[error("{}", report(.0))]
    Changed(Vec<Change>),
}

fn report(changes: &[Change]) -> String {
    let mut text = String::from("the wire has changed:\n");
    for change in changes {
        text.push_str(&format!("  {change}\n"));
    }
    let breaks = changes.iter().any(|change| change.effect == Effect::Breaks);
    let value = if breaks { "break" } else { "write" };
    text.push_str(&format!("if that is meant, {VARIABLE}={value} writes it down"));
    text
}

/// Fails unless the file at `path` says what the program's protocols look like. Reads, and with
/// `GREENROOM_WIRE_LOCK` writes, the file; relative paths start at the package, as tests do.
///
/// # Panics
/// With all differences, when there are some.
pub fn assert_unchanged(path: impl AsRef<Path>, manifests: &[Manifest]) {
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    let outcome = match wanted.as_str() {
        "write" | "break" => write(path, manifests, wanted == "break"),
        _ => check(path, manifests),
    };
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Compares the file at `path` with the program's protocols.
///
/// # Errors
/// [`LockError::Changed`] with all differences; others when there is no such file.
pub fn check(path: impl AsRef<Path>, manifests: &[Manifest]) -> Result<(), LockError> {
    let locked = read(path.as_ref())?;
    let changes = compare(&locked, &Locked::of(manifests));
    if changes.is_empty() { Ok(()) } else { Err(LockError::Changed(changes)) }
}

/// Writes the file at `path`; without `breaks` only if that breaks nothing that it says so far.
///
/// # Errors
/// [`LockError::Changed`] when it would; others when the file cannot be read or written.
pub fn write(
    path: impl AsRef<Path>,
    manifests: &[Manifest],
    breaks: bool,
) -> Result<(), LockError> {
    let path = path.as_ref();
    let program = Locked::of(manifests);
    if !breaks && path.exists() {
        let mut changes = compare(&read(path)?, &program);
        changes.retain(|change| change.effect == Effect::Breaks);
        if !changes.is_empty() {
            return Err(LockError::Changed(changes));
        }
    }
    std::fs::write(path, program.to_string()).map_err(|source| file_error(path, source))
}

fn read(path: &Path) -> Result<Locked, LockError> {
    let text = std::fs::read_to_string(path).map_err(|source| file_error(path, source))?;
    Locked::parse(&text)
}

fn file_error(path: &Path, source: std::io::Error) -> LockError {
    LockError::File { path: path.display().to_string(), source }
}

fn compare(old: &Locked, new: &Locked) -> Vec<Change> {
    let mut changes = Vec::new();
    for (name, before) in &old.protocols {
        match new.protocols.get(name) {
            Some(after) => compare_protocol(name, before, after, &mut changes),
            None => changes.push(Change {
                effect: Effect::Breaks,
                text: format!("`{name}/{}` is gone, and old nodes still speak it", before.version),
            }),
        }
    }
    for (name, after) in &new.protocols {
        if !old.protocols.contains_key(name) {
            let text = format!("`{name}/{}` is new", after.version);
            changes.push(Change { effect: Effect::Harmless, text });
        }
    }
    changes
}

fn compare_protocol(name: &str, old: &Protocol, new: &Protocol, changes: &mut Vec<Change>) {
    let mut note = |effect, text| changes.push(Change { effect, text });
    let (before, after) = (old.version, new.version);
    if after < before {
        note(Effect::Breaks, format!("`{name}` goes back from version {before} to {after}"));
    } else if after > before {
        note(Effect::Harmless, format!("`{name}/{before}` became `{name}/{after}`"));
    }
    let raised = after > before;
    let (effect, advice) = if raised {
        (
            Effect::NeedsMigration,
            format!(
                "have the export migrate it from version {before}; old nodes refuse it as it is"
            ),
        )
    } else {
        let next = before.saturating_add(1);
        let advice = format!("raise the version to {next}, and migrate it from version {before}");
        (Effect::Breaks, advice)
    };
    if old.codec != new.codec {
        let text = format!("`{name}` had the codec {} and has {}; {advice}", old.codec, new.codec);
        note(effect, text);
    }
    for (message, before) in &old.messages {
        let signature = &before.signature;
        match new.messages.get(message) {
            Some(now) if now.signature == *signature => {
                for Change { effect, text } in inside::compare(&before.inside, &now.inside) {
                    let mut text = format!("`{name}`: in `{signature}`, {text}");
                    if effect == Effect::Breaks {
                        text.push_str(&format!("; {UNNOTICED}, {advice}"));
                    }
                    note(effect, text);
                }
            }
            Some(now) => {
                let now = &now.signature;
                note(effect, format!("`{name}`: `{signature}` became `{now}`; {advice}"));
            }
            None => note(effect, format!("`{name}`: `{signature}` is gone; {advice}")),
        }
    }
    for (message, Message { signature, .. }) in &new.messages {
        if !old.messages.contains_key(message) {
            let text = format!("`{name}`: `{signature}` is new; old nodes refuse it");
            note(Effect::Harmless, text);
        }
    }
}
