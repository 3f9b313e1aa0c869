//! Asks that wait for one another.

use crate::event::ActorId;
use crate::task::cell::CellRef;
use std::fmt;

/// Actors that ask one another in a circle: each waits in its handler for the answer of the next one, and
/// the last one for that of the first. Of [`AskError::Cycle`](super::AskError::Cycle).
///
/// It displays as `Desk#4 asks ledger (Ledger#5) asks Desk#4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskCycle(Box<Members>);

/// One more box than need be, so that the error of every ask stays small.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Members(Vec<CycleMember>);

/// An actor of an [`AskCycle`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CycleMember {
    /// Which actor.
    pub id: ActorId,
    /// Its name, if it has one.
    pub name: Option<String>,
}

impl AskCycle {
    /// Looks up the names of the cells' actors.
    pub(super) fn of(cells: &[CellRef]) -> Self {
        let member =
            |cell: &CellRef| CycleMember { id: cell.actor_id(), name: cell.core.names.of(cell) };
        Self(Box::new(Members(cells.iter().map(member).collect())))
    }

    /// The actors, in the order in which they ask: first the one whose ask has failed.
    #[must_use]
    pub fn members(&self) -> &[CycleMember] {
        &self.0.0
    }
}

impl fmt::Display for AskCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for member in self.members() {
            write!(f, "{member} asks ")?;
        }
        self.members().first().map_or(Ok(()), |first| first.fmt(f))
    }
}

impl fmt::Display for CycleMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} ({})", self.id),
            None => self.id.fmt(f),
        }
    }
}
