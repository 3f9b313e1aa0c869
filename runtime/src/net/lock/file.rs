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
    pub(super) messages: BTreeMap<String, String>,
}

impl Locked {
    /// What the program has.
    pub(super) fn of(manifests: &[Manifest]) -> Self {
        let protocols = manifests.iter().map(|manifest| {
            let signatures = manifest.signatures().iter();
            let messages =
                signatures.map(|signature| (signature.name().to_owned(), signature.to_string()));
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
        let mut locked = Self::default();
        let mut protocol = None;
        for (index, line) in text.lines().enumerate() {
            let unreadable = || LockError::Unreadable { line: index + 1, text: line.to_owned() };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(shape) = line.strip_prefix("    ") {
                let open: &mut Protocol = protocol
                    .as_ref()
                    .and_then(|name| locked.protocols.get_mut(name))
                    .ok_or_else(unreadable)?;
                let message = message_of(shape).ok_or_else(unreadable)?;
                open.messages.insert(message.to_owned(), shape.to_owned());
            } else {
                let (name, opened) = protocol_of(line).ok_or_else(unreadable)?;
                if locked.protocols.insert(name.clone(), opened).is_some() {
                    return Err(unreadable());
                }
                protocol = Some(name);
            }
        }
        Ok(locked)
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
            for shape in protocol.messages.values() {
                writeln!(f, "    {shape}")?;
            }
        }
        Ok(())
    }
}
