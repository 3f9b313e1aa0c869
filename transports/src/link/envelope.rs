//! What the engine knows of a message: who, to whom, of what kind.

use std::hash::{Hash, Hasher};

/// An actor on its node: a place in the node's table, and which of its tenants is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The place.
    pub slot: u32,
    /// Counts the actors that had the place.
    pub generation: u32,
}

impl Address {
    /// The sender of what keeps no order: messages from it may overtake one another. [LINK-56]
    pub const NOBODY: Self = Self { slot: u32::MAX, generation: u32::MAX };
}

impl Address {
    /// The address as one number, as it lies in a packet: the slot first.
    #[inline]
    pub(super) const fn number(self) -> u64 {
        self.slot as u64 | (self.generation as u64) << 32
    }
}

// At once: each message looks its addresses up in several tables.
impl Hash for Address {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.number());
    }
}

/// What a message is, which decides the credit that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message that wants no answer.
    Tell = 0,
    /// A message that wants an answer; the correlation names it.
    Ask = 1,
    /// The answer to the ask of that correlation.
    Reply = 2,
    /// A message between runtimes: watch, unwatch, terminated, tables, offers.
    System = 3,
    /// The report that the message with that correlation was not delivered.
    Undeliverable = 4,
}

/// Which credit of a lane pays for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// What waits for room in a mailbox: tells and asks.
    Mail = 0,
    /// What never waits at the receiver, so that an answer can always come: all else.
    Reserved = 1,
}

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The receiver, on the peer's node.
    pub to: Address,
    /// The sender, on this node. Messages keep their order for each pair of sender and receiver.
    pub from: Address,
    /// What it is.
    pub kind: Kind,
    /// The number of the message's type in the table that the nodes agreed on.
    pub manifest: u16,
    /// Which ask, reply or report it is; not carried for [`Kind::Tell`] and [`Kind::System`].
    pub correlation: u64,
}

impl Kind {
    /// The kind with that number.
    pub(super) const fn from_wire(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Tell,
            1 => Self::Ask,
            2 => Self::Reply,
            3 => Self::System,
            4 => Self::Undeliverable,
            _ => return None,
        })
    }

    /// Whether the envelope carries its correlation.
    pub(super) const fn correlates(self) -> bool {
        matches!(self, Self::Ask | Self::Reply | Self::Undeliverable)
    }

    /// Which credit pays for it. [LINK-40]
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Tell | Self::Ask => Class::Mail,
            Self::Reply | Self::System | Self::Undeliverable => Class::Reserved,
        }
    }
}

impl Class {
    /// Both, in the order of their numbers.
    pub(super) const ALL: [Self; 2] = [Self::Mail, Self::Reserved];

    pub(super) const fn from_wire(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Mail),
            1 => Some(Self::Reserved),
            _ => None,
        }
    }
}
