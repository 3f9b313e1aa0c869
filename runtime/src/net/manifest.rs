//! What a protocol looks like from outside: its name and version, and its messages by name and types.
//!
//! All of it that goes on the wire is computed by the compiler from the texts in the source, so it is the same in
//! every build of the same source, on whatever platform and by whatever compiler.

use super::message::WireMessage;
use super::shape::Shape;
use crate::actor::Protocol;
use std::fmt;

/// Parameters of one message: name and type of each, as they are written.
type Parameters = &'static [(&'static str, &'static str)];

/// Names a message within its protocol, by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub(super) u32);

impl MessageId {
    /// The id of the handler called `name`.
    #[must_use]
    pub const fn of(name: &str) -> Self {
        Self(fold(hash(BASIS, name)))
    }
}

/// The shape of one message: who wrote it to what it says, and what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    name: &'static str,
    parameters: Parameters,
    answer: Option<&'static str>,
}

impl Signature {
    /// The shape of a message that is told.
    #[must_use]
    pub const fn told(name: &'static str, parameters: Parameters) -> Self {
        Self { name, parameters, answer: None }
    }

    /// The shape of a message that is asked, and answers with `answer`.
    #[must_use]
    pub const fn asked(name: &'static str, parameters: Parameters, answer: &'static str) -> Self {
        Self { name, parameters, answer: Some(answer) }
    }

    /// The handler's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The lines for what is inside, without those that say what the signature does.
    fn inside(&self, shapes: &[Shape]) -> Vec<String> {
        // As no parameter is called.
        let answer = self.answer.map(|ty| ("return", ty));
        let written = self.parameters.iter().copied().chain(answer);
        let lines = written.zip(shapes).flat_map(|((name, ty), shape)| {
            let itself = format!("{name}: {ty}");
            shape.lines(name).filter(move |line| *line != itself)
        });
        lines.collect()
    }

    const fn hash(&self, codec: &str) -> u32 {
        let mut state = hash(BASIS, codec);
        state = hash(state, self.name);
        let mut index = 0;
        while index < self.parameters.len() {
            let (name, ty) = self.parameters[index];
            state = hash(hash(state, name), ty);
            index += 1;
        }
        if let Some(answer) = self.answer {
            state = hash(hash(state, "->"), answer);
        }
        fold(state)
    }
}

impl fmt::Display for Signature {
    /// Writes it as in the source: `tell quote(price: u64)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.answer.is_some() { "ask" } else { "tell" };
        write!(f, "{kind} {}(", self.name)?;
        for (index, (name, ty)) in self.parameters.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{name}: {ty}")?;
        }
        f.write_str(")")?;
        self.answer.map_or(Ok(()), |answer| write!(f, " -> {answer}"))
    }
}

/// What a protocol looks like from outside; `#[handlers(wire = ..)]` makes it.
///
/// ```
/// use greenroom::net::Manifest;
/// use greenroom::{Actor, handlers};
///
/// #[derive(Actor)]
/// struct Book(u64);
///
/// #[handlers(wire = "acme.book/3")]
/// impl Book {
///     #[tell]
///     fn quote(&mut self, price: u64) {
///         self.0 = self.0.max(price);
///     }
///     #[ask]
///     fn best(&self) -> u64 {
///         self.0
///     }
/// }
///
/// let manifest = Manifest::of::<Book>();
/// assert_eq!((manifest.name(), manifest.version()), ("acme.book", 3));
/// let shapes: Vec<_> = manifest.signatures().iter().map(ToString::to_string).collect();
/// assert_eq!(shapes, ["tell quote(price: u64)", "ask best() -> u64"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Manifest {
    name: &'static str,
    version: u16,
    codec: &'static str,
    signatures: &'static [Signature],
    /// Says what is inside of the messages, if that is known.
    shapes: fn() -> Vec<Vec<Shape>>,
}

impl PartialEq for Manifest {
    /// Compares what is written in the source.
    fn eq(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.name, it.version, it.codec, it.signatures);
        of(self) == of(other)
    }
}

impl Eq for Manifest {}

impl Manifest {
    /// A manifest of those messages.
    ///
    /// # Panics
    /// When two messages have one id, which is an error when it compiles.
    #[must_use]
    pub const fn new(
        name: &'static str,
        version: u16,
        codec: &'static str,
        signatures: &'static [Signature],
    ) -> Self {
        let mut index = 0;
        while index < signatures.len() {
            let mut other = 0;
            while other < index {
                let ids = (MessageId::of(signatures[index].name), signatures[other].name);
                assert!(ids.0.0 != MessageId::of(ids.1).0, "two handlers have one id: rename one");
                other += 1;
            }
            index += 1;
        }
        Self { name, version, codec, signatures, shapes: Vec::new }
    }

    /// The manifest of a protocol.
    #[must_use]
    pub const fn of<P: Protocol<Message: WireMessage>>() -> Self {
        // Only here, so that programs which do not ask are not longer for it.
        Self {
            shapes: <P::Message as WireMessage>::shapes,
            ..<P::Message as WireMessage>::MANIFEST
        }
    }

    /// The protocol's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The protocol's version.
    #[must_use]
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// How values become bytes.
    #[must_use]
    pub const fn codec(&self) -> &'static str {
        self.codec
    }

    /// The messages, in the order of their handlers.
    #[must_use]
    pub const fn signatures(&self) -> &'static [Signature] {
        self.signatures
    }

    /// The message with that id.
    #[must_use]
    pub fn signature(&self, id: MessageId) -> Option<&'static Signature> {
        self.signatures.iter().find(|signature| MessageId::of(signature.name) == id)
    }

    /// What is inside of each message's parameters and answer, as lines, in the order of the messages.
    pub(super) fn insides(&self) -> Vec<Vec<String>> {
        let mut shapes = (self.shapes)().into_iter();
        let inside = |signature: &Signature| signature.inside(&shapes.next().unwrap_or_default());
        self.signatures.iter().map(inside).collect()
    }

    /// A number that differs when what the message says, or how it becomes bytes, is written otherwise. [ENV-19]
    pub(super) fn schema(&self, signature: &Signature) -> u32 {
        signature.hash(self.codec)
    }
}

/// Where a hash begins.
pub(super) const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;

/// Goes on with a hash: FNV-1a (Fowler, Noll and Vo).
pub(super) const fn go_on(state: u64, byte: u8) -> u64 {
    (state ^ byte as u64).wrapping_mul(PRIME)
}

/// Goes on with a hash, with the end of each text as a byte of its own.
const fn hash(mut state: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        state = go_on(state, bytes[index]);
        index += 1;
    }
    go_on(state, 0xFF)
}

#[expect(clippy::cast_possible_truncation, reason = "both halves are in")]
const fn fold(state: u64) -> u32 {
    (state ^ (state >> 32)) as u32
}
