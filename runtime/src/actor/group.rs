//! Groups: the actors that play one part, whoever they are at the moment.

use super::address::Ref;
use super::ask::Ask;
use super::error::{AskError, TellError};
use super::roster::Roster;
use super::tell::Tell;
use super::topic::Published;
use super::traits::Protocol;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::task::Poll;

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

    /// Tells every member, each as its mailbox declares for what does not wait ([`Tell::tell`]):
    /// `ushers.broadcast(|usher| usher.close_doors())`. Returns at once.
    pub fn broadcast(
        &self,
        tell: impl for<'a> Fn(&'a Ref<P>) -> Tell<'a, P::Message>,
    ) -> Published {
        let mut published = Published::default();
        for member in self.members.snapshot().iter() {
            match tell(&member.note).tell() {
                Ok(()) => published.told += 1,
                Err(TellError::Full(_) | TellError::SystemFull(_)) => published.full += 1,
                Err(TellError::Closed(_) | TellError::Expired(_)) => {}
            }
        }
        published
    }

    /// Asks every member at once, and is ready with the first answer:
    /// `ushers.first(|usher| usher.free_seat(row)).await`. Those of the others are dropped.
    ///
    /// # Errors
    /// The last error when all failed; [`AskError::Closed`] when there is no member.
    ///
    /// # Cancel safety
    /// As with one ask: dropped, the questions may still be handled.
    pub async fn first<R, Shape, T, E>(
        &self,
        ask: impl for<'a> Fn(&'a Ref<P>) -> Ask<'a, P::Message, R, Shape>,
    ) -> Result<T, AskError<E>>
    where
        for<'a> Ask<'a, P::Message, R, Shape>: IntoFuture<Output = Result<T, AskError<E>>>,
    {
        let members = self.members();
        let mut asking: Vec<_> =
            members.iter().map(|member| Some(Box::pin(ask(member).into_future()))).collect();
        let mut last = AskError::Closed;
        poll_fn(|cx| {
            let (mut first, mut waits) = (None, false);
            // Everybody is asked, however soon the first one answers.
            for slot in &mut asking {
                match slot.as_mut().map(|asking| asking.as_mut().poll(cx)) {
                    Some(Poll::Ready(Ok(answer))) => {
                        first.get_or_insert(answer);
                        *slot = None;
                    }
                    Some(Poll::Ready(Err(error))) => {
                        last = error;
                        *slot = None;
                    }
                    Some(Poll::Pending) => waits = true,
                    None => {}
                }
            }
            match first {
                Some(answer) => Poll::Ready(Ok(answer)),
                None if waits => Poll::Pending,
                None => Poll::Ready(Err(std::mem::replace(&mut last, AskError::Closed))),
            }
        })
        .await
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
