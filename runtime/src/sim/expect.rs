//! What a test says of single messages.

use super::check::Failure;
use super::spectator::{Origin, Party, Spectator, short};
use super::world::World;
use crate::actor::{Message, Protocol, Ref, Sight};
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// What is to become of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Expect,
    Allow,
    Disallow,
}

type Predicate<M> = Box<dyn Fn(&M) -> bool>;

/// A message that a test says something of: [`World::expect`], [`World::allow`], [`World::disallow`].
#[must_use = "nothing runs before `within`"]
pub struct Expectation<'w, M> {
    world: &'w mut World,
    wish: Wish,
    from: Option<Option<Party>>,
    to: Option<Party>,
    when: Option<Predicate<M>>,
    text: String,
    message: PhantomData<fn(M)>,
}

impl World {
    /// Runs the world until an actor handles a message of type `M`, and fails if none does in time; the
    /// failure names the messages that were handled instead.
    ///
    /// From the first such call on, each turn of an actor handles one message, so that no message passes
    /// between two expectations. Those sent before it came from somebody unknown, as does all mail under
    /// [`Scheduler::per_core`](crate::Scheduler::per_core), and all to an actor whose mailbox drops the oldest message.
    ///
    /// ```
    /// use greenroom::sim::World;
    /// use greenroom::{Actor, handlers};
    /// use std::time::Duration;
    ///
    /// #[derive(Actor)]
    /// struct Lamp(bool);
    ///
    /// #[handlers]
    /// impl Lamp {
    ///     #[tell]
    ///     fn switch(&mut self, on: bool) {
    ///         self.0 = on;
    ///     }
    /// }
    ///
    /// let mut world = World::new(1);
    /// let system = world.node("home").start().system();
    /// let lamp = world.run(async { system.spawn::<Lamp>(Lamp(false)).await.unwrap() });
    /// let sender = lamp.clone();
    /// world.spawn(async move { sender.switch(true).await.unwrap() });
    ///
    /// let second = Duration::from_secs(1);
    /// world.expect::<LampMessage>().from_outside().to(&lamp).within(second);
    /// world.disallow::<LampMessage>().to(&lamp).within(second);
    /// ```
    pub fn expect<M: Message>(&mut self) -> Expectation<'_, M> {
        self.message(Wish::Expect)
    }

    /// Runs the world until an actor handles a message of type `M`, or for as long as it is given.
    pub fn allow<M: Message>(&mut self) -> Expectation<'_, M> {
        self.message(Wish::Allow)
    }

    /// Runs the world for as long as it is given, and fails if an actor handles a message of type `M`.
    pub fn disallow<M: Message>(&mut self) -> Expectation<'_, M> {
        self.message(Wish::Disallow)
    }

    fn message<M: Message>(&mut self, wish: Wish) -> Expectation<'_, M> {
        if self.spectator.is_none() {
            self.spectator = Some(Spectator::default());
            self.survey(Origin::Unknown);
        }
        let text = short(type_name::<M>()).to_owned();
        Expectation {
            world: self,
            wish,
            from: None,
            to: None,
            when: None,
            text,
            message: PhantomData,
        }
    }
}

impl<M: Message> Expectation<'_, M> {
    /// Only messages that this actor has sent.
    pub fn from<P: Protocol>(mut self, sender: &Ref<P>) -> Self {
        self.text += &format!(" from {}", sender.id());
        self.from = Some(Some(Party::of(sender.cell())));
        self
    }

    /// Only messages that no actor has sent, but the test or one of the world's tasks.
    pub fn from_outside(mut self) -> Self {
        self.text += " from outside";
        self.from = Some(None);
        self
    }

    /// Only messages to this actor.
    pub fn to<P: Protocol>(mut self, receiver: &Ref<P>) -> Self {
        self.text += &format!(" to {}", receiver.id());
        self.to = Some(Party::of(receiver.cell()));
        self
    }

    /// Only messages of which `when` says yes.
    pub fn when(mut self, when: impl Fn(&M) -> bool + 'static) -> Self {
        self.text += " as described";
        self.when = Some(Box::new(when));
        self
    }

    /// Runs the world until the message is handed to its handler, for `span` at most; whether it was.
    ///
    /// # Panics
    /// When the message does not come although it is expected, or comes although it is not allowed; and
    /// as [`World::run_for`].
    #[expect(clippy::must_use_candidate, reason = "only what is allowed has an open outcome")]
    pub fn within(self, span: Duration) -> bool {
        let Self { world, wish, from, to, when, text, .. } = self;
        let wanted = move |sight: &Sight<'_>, origin: Origin| {
            let is_from = from.is_none_or(|from| match origin {
                Origin::Actor(party) => from == Some(party),
                Origin::Outside => from.is_none(),
                Origin::Unknown => false,
            });
            let is_to = to.is_none_or(|to| to == Party::of(sight.receiver()));
            let fits = |message: &M| when.as_ref().is_none_or(|when| when(message));
            is_from && is_to && sight.message::<M>().is_some_and(fits)
        };
        let (came, seen) = world.seek(Box::new(wanted), span);
        let instead = || {
            let list: String = seen.iter().map(|message| format!("\n  {message}")).collect();
            if seen.is_empty() { "; no message was handled".to_owned() } else { list }
        };
        match wish {
            Wish::Expect if !came => world.fail(Failure::new(
                "an expected message did not come",
                format!("{text} within {span:?}, but{}", instead()),
            )),
            Wish::Disallow if came => world.fail(Failure::new(
                "a message came that is not allowed",
                format!("{text}, the last of{}", instead()),
            )),
            Wish::Expect | Wish::Allow | Wish::Disallow => came,
        }
    }
}

impl<M> fmt::Debug for Expectation<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.wish, self.text)
    }
}
