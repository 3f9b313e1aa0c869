//! Groups: the actors that play one part, whoever they are at the moment.

use super::address::Ref;
use super::roster::Roster;
use super::traits::Protocol;
use std::fmt;

/// Actors that joined; each leaves at the latest by ending.
///
/// A group is shared: clones are the same group, and so are those of one name and type in one system
/// ([`System::group`](crate::System::group)). Its calls return at once, and wait for no actor.
///
/// # Examples
/// ```
/// use greenroom::{Actor, Group, System, handlers};
///
/// #[derive(Actor)]
/// struct Usher {
///     row: u32,
/// }
///
/// #[handlers]
/// impl Usher {
///     #[ask]
///     fn row(&self) -> u32 {
///         self.row
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let ushers: Group<Usher> = system.group("ushers");
///     for row in 1..=3 {
///         ushers.join(&system.spawn::<Usher>(Usher { row }).await?);
///     }
///     let mut rows = Vec::new();
///     for usher in system.group::<Usher>("ushers").members() {
///         rows.push(usher.row().await?);
///     }
///     assert_eq!(rows, [1, 2, 3]);
///     Ok(())
/// }
/// ```
pub struct Group<P: Protocol> {
    members: Roster<Ref<P>>,
}

impl<P: Protocol> Group<P> {
    /// An empty group without a name.
    #[must_use]
    pub fn new() -> Self {
        Self { members: Roster::new() }
    }

    /// Lets `actor` in; `false` if it is in already, or is ending. O(log n).
    pub fn join(&self, actor: &Ref<P>) -> bool {
        self.members.add(actor.cell(), actor.clone())
    }

    /// Lets `actor` go; `false` if it is not in. O(log n).
    pub fn leave(&self, actor: &Ref<P>) -> bool {
        self.members.remove(actor.cell())
    }

    /// Those who are in and accept mail, in the order of joining.
    #[must_use]
    pub fn members(&self) -> Vec<Ref<P>> {
        let members = self.members.snapshot();
        let open = members.iter().filter(|member| !member.is_closed());
        open.map(|member| member.note.clone()).collect()
    }
}

impl<P: Protocol> Default for Group<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Protocol> Clone for Group<P> {
    fn clone(&self) -> Self {
        Self { members: self.members.clone() }
    }
}

impl<P: Protocol> fmt::Debug for Group<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Group")?;
        f.debug_list().entries(self.members()).finish()
    }
}
