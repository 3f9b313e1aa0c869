//! The form of a `wire.lock`.

use super::LockError;
use crate::net::manifest::Manifest;
use std::collections::BTreeMap;
use std::fmt;

const HEAD: &str =
    "# What goes over the wire. Written by greenroom (GREENROOM_WIRE_LOCK=write); commit it.";

/// All protocols, by name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Locked {
    pub(super) protocols: BTreeMap<String, Protocol>,
}

/// One protocol.
#[derive(Debug, PartialEq)]
pub(super) struct Protocol {
    pub(super) version: u16,
    pub(super) codec: String,
    /// What each message looks like, by name.
    pub(super) messages: BTreeMap<String, Message>,
}

/// One message.
#[derive(Debug, PartialEq)]
pub(super) struct Message {
    /// As it is in the source.
    pub(super) signature: String,
    /// What is inside of its parameters and its answer.
    pub(super) inside: Vec<Part>,
}

/// Something inside of a parameter or an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// How to get there: `order.lines[].count`.
    pub(super) way: String,
    /// What is there: `u32`.
    pub(super) what: String,
}

impl Part {
    fn parse(line: &str) -> Option<Self> {
        let (way, what) = line.rsplit_once(": ")?;
        Some(Self { way: way.to_owned(), what: what.to_owned() })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.way, self.what)
    }
}

impl Locked {
    /// What the program has.
    pub(super) fn of(manifests: &[Manifest]) -> Self {
        let protocols = manifests.iter().map(|manifest| {
            let signatures = manifest.signatures().iter().zip(manifest.insides());
            let messages = signatures.map(|(signature, inside)| {
                let inside = inside.iter().filter_map(|line| Part::parse(line)).collect();
                let message = Message { signature: signature.to_string(), inside };
                (signature.name().to_owned(), message)
            });
            let protocol = Protocol {
                version: manifest.version(),
                codec: manifest.codec().to_owned(),
                messages: messages.collect(),
            };
            (manifest.name().to_owned(), protocol)
        });
        Self { protocols: protocols.collect() }
    }

    /// Reads the form that it is written in.
    ///
    /// # Errors
    /// [`LockError::Unreadable`] with the first line that is not of it.
    pub(super) fn parse(text: &str) -> Result<Self, LockError> {
        let mut reading = Reading::default();
        for (index, line) in text.lines().enumerate() {
            let is_said = line.is_empty() || line.starts_with('#') || reading.take(line).is_some();
            if !is_said {
                return Err(LockError::Unreadable { line: index + 1, text: line.to_owned() });
            }
        }
        Ok(reading.locked)
    }
}

/// A file of which the lines up to one were read.
#[derive(Debug, Default)]
struct Reading {
    locked: Locked,
    protocol: String,
    message: String,
}

impl Reading {
    /// Reads a line; `None` if it is not of such a file.
    fn take(&mut self, line: &str) -> Option<()> {
        let protocol = self.locked.protocols.get_mut(&self.protocol);
        if let Some(part) = line.strip_prefix("        ") {
            let message = protocol?.messages.get_mut(&self.message)?;
            message.inside.push(Part::parse(part)?);
        } else if let Some(signature) = line.strip_prefix("    ") {
            self.message = message_of(signature)?.to_owned();
            let message = Message { signature: signature.to_owned(), inside: Vec::new() };
            protocol?.messages.insert(self.message.clone(), message);
        } else {
            let (name, opened) = protocol_of(line)?;
            self.protocol.clone_from(&name);
            self.message.clear();
            let is_new = self.locked.protocols.insert(name, opened).is_none();
            return is_new.then_some(());
        }
        Some(())
    }
}

/// The name in `tell quote(price: u64)`.
fn message_of(shape: &str) -> Option<&str> {
    let rest = shape.strip_prefix("tell ").or_else(|| shape.strip_prefix("ask "))?;
    Some(rest.split_once('(')?.0)
}

/// The protocol in `acme.book/3 postcard`.
fn protocol_of(line: &str) -> Option<(String, Protocol)> {
    let (head, codec) = line.split_once(' ')?;
    let (name, version) = head.rsplit_once('/')?;
    let version = version.parse().ok()?;
    let codec = codec.to_owned();
    Some((name.to_owned(), Protocol { version, codec, messages: BTreeMap::new() }))
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        for (name, protocol) in &self.protocols {
            writeln!(f, "\n{name}/{} {}", protocol.version, protocol.codec)?;
            for message in protocol.messages.values() {
                writeln!(f, "    {}", message.signature)?;
                for part in &message.inside {
                    writeln!(f, "        {part}")?;
                }
            }
        }
        Ok(())
    }
}
