//! Topics: what is published goes to everybody who subscribed.

use super::address::Ref;
use super::error::TellError;
use super::roster::{Roster, Snapshot};
use super::tell::Tell;
use super::traits::Protocol;
use std::fmt;
use std::pin::Pin;

/// A subject on which values are published to the actors that subscribed.
///
/// A topic is shared: clones are the same topic, and so are those of one name and type in one system
/// ([`System::topic`](crate::System::topic)). What one publisher publishes arrives at each subscriber
/// in that order, as mail like any other: its bounds hold, and its policies.
///
/// # Examples
/// ```
/// use greenroom::{Actor, System, Topic, handlers};
///
/// #[derive(Actor)]
/// struct Ticker {
///     last: u64,
/// }
///
/// #[handlers]
/// impl Ticker {
///     #[tell]
///     fn quote(&mut self, price: u64) {
///         self.last = price;
///     }
///     #[ask]
///     fn last(&self) -> u64 {
///         self.last
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let prices: Topic<u64> = system.topic("prices");
///     let ticker = system.spawn::<Ticker>(Ticker { last: 0 }).await?;
///     prices.subscribe(&ticker, |ticker, price| ticker.quote(price));
///     assert_eq!(prices.publish(101).told, 1);
///     assert_eq!(ticker.last().await?, 101);
///     Ok(())
/// }
/// ```
pub struct Topic<T: Clone + Send + 'static> {
    subscribers: Roster<Box<dyn Subscriber<T>>>,
}

/// Who was told what was published; see [`Topic::publish`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "subscribers without room were not told"]
pub struct Published {
    /// Subscribers whose mailbox took it, or dropped it as they declare.
    pub told: usize,
    /// Subscribers whose mailbox was full.
    pub full: usize,
}

/// One who subscribed, whatever its type.
trait Subscriber<T>: Send + Sync {
    /// Tells at once what its policy allows; `Err(true)` if it has no room, `Err(false)` if it is gone.
    fn tell(&self, value: T) -> Result<(), bool>;
    /// Tells as soon as there is room; `false` if it is gone.
    fn send<'a>(&'a self, value: T) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>
    where
        T: 'a;
}

struct Subscription<P: Protocol, F> {
    actor: Ref<P>,
    call: F,
}

impl<T, P, F> Subscriber<T> for Subscription<P, F>
where
    T: Send,
    P: Protocol,
    F: for<'a> Fn(&'a Ref<P>, T) -> Tell<'a, P::Message> + Send + Sync,
{
    fn tell(&self, value: T) -> Result<(), bool> {
        let told = (self.call)(&self.actor, value).tell();
        told.map_err(|error| matches!(error, TellError::Full(_) | TellError::SystemFull(_)))
    }

    fn send<'a>(&'a self, value: T) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>
    where
        T: 'a,
    {
        let tell = (self.call)(&self.actor, value);
        // A message that never fits is as good as one to nobody.
        Box::pin(async move { tell.await.is_ok() })
    }
}

impl<T: Clone + Send + 'static> Topic<T> {
    /// A topic without a name, that nobody has subscribed to.
    #[must_use]
    pub fn new() -> Self {
        Self { subscribers: Roster::new() }
    }

    /// Has `call` make the message to `actor` for each value published from now on, until the actor
    /// ends or [unsubscribes](Topic::unsubscribe); `false` if it has subscribed already, or is ending.
    pub fn subscribe<P: Protocol>(
        &self,
        actor: &Ref<P>,
        call: impl for<'a> Fn(&'a Ref<P>, T) -> Tell<'a, P::Message> + Send + Sync + 'static,
    ) -> bool {
        let subscription = Subscription { actor: actor.clone(), call };
        self.subscribers.add(actor.cell(), Box::new(subscription))
    }

    /// Ends the subscription of `actor`; `false` if there is none. What was published before may still
    /// be in its mailbox.
    pub fn unsubscribe<P: Protocol>(&self, actor: &Ref<P>) -> bool {
        self.subscribers.remove(actor.cell())
    }

    /// How many have subscribed and accept mail.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.subscribers.snapshot().iter().filter(|entry| !entry.is_closed()).count()
    }

    /// Tells `value` to every subscriber, each as its mailbox declares for what does not wait
    /// ([`Tell::tell`]). Returns at once.
    pub fn publish(&self, value: T) -> Published {
        let subscribers = self.subscribers.snapshot();
        let mut published = Published::default();
        each(&subscribers, value, |subscriber, value| match subscriber.tell(value) {
            Ok(()) => published.told += 1,
            Err(true) => published.full += 1,
            Err(false) => {}
        });
        published
    }

    /// As [`Topic::publish`], but waits for room at each subscriber, one after the other; returns how
    /// many were told.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has told those that come first in the order of subscribing.
    pub async fn publish_to_all(&self, value: T) -> usize {
        let subscribers = self.subscribers.snapshot();
        let mut told = 0;
        for subscriber in subscribers.iter() {
            told += usize::from(subscriber.note.send(value.clone()).await);
        }
        told
    }
}

/// Hands a copy to each, and the value itself to the last.
fn each<T: Clone>(
    subscribers: &Snapshot<Box<dyn Subscriber<T>>>,
    value: T,
    mut hand: impl FnMut(&dyn Subscriber<T>, T),
) {
    let Some((last, others)) = subscribers.split_last() else { return };
    for subscriber in others {
        hand(&*subscriber.note, value.clone());
    }
    hand(&*last.note, value);
}

impl<T: Clone + Send + 'static> Default for Topic<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone + Send + 'static> Clone for Topic<T> {
    fn clone(&self) -> Self {
        Self { subscribers: self.subscribers.clone() }
    }
}

impl<T: Clone + Send + 'static> fmt::Debug for Topic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Topic({} subscribers)", self.subscribers())
    }
}
