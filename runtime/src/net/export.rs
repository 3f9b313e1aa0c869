//! What a node lets others reach.

use super::codec::{self, DecodeError, Postcard};
use super::frame::{Envelope, Tells};
use super::limit::Rate;
use super::manifest::MessageId;
use super::message::{Answer, Decoded, Until, WireMessage, question};
use super::reference::{self, Lent};
use crate::actor::{Down, Message, Protocol, Recipient, Ref, Reply, TellError, WatchId};
use crate::event::{ActorId, Undelivered};
use crate::sync::panic::quietly;
use crate::sync::planted;
use crate::task::cell::CellRef;
use crate::time::Time;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// An exported actor, whatever it speaks.
pub(super) trait Exported: Send + Sync {
    fn cell(&self) -> &CellRef;
    fn id(&self) -> ActorId {
        self.cell().actor_id()
    }
    /// Whether it accepts no more mail.
    fn is_closed(&self) -> bool;
    /// The name of its protocol.
    fn protocol(&self) -> &'static str;
    /// The type of its messages, for reports.
    fn message(&self) -> &'static str;
    /// The address to which the protocol's messages go: a `Recipient` of them.
    fn recipient(&self) -> &dyn Any;
    /// Hands it a message that came by a connection.
    fn take(
        &self,
        envelope: &Envelope<'_>,
        until: Until,
        by: &mut Lent,
    ) -> Result<Taken, Undelivered>;
    /// Hands it messages that nobody waits for, one after the other, until one does not go in.
    fn take_run(&self, messages: &mut Tells<'_>, by: &mut Lent) -> Run;
    /// How often one connection may send to it.
    fn limit(&self) -> Option<Rate>;
    /// Stops it.
    fn stop(&self);
    /// Calls `tell` when it has ended.
    fn when_ended(&self, tell: Box<dyn FnOnce(Down) + Send>) -> WatchId;
    /// Drops such a `tell`, unless it was called.
    fn unwatch_end(&self, watch: WatchId);
}

/// What became of a message.
pub(super) enum Taken {
    /// It is in the mailbox.
    In(Option<Answer>),
    /// The mailbox is full.
    Waits(Waiting),
}

/// How far a run of messages went.
pub(super) struct Run {
    /// How many went in, of the first ones.
    pub(super) taken: u32,
    /// Bytes of the longest of these, and of the one that stopped it.
    pub(super) longest: usize,
    /// The one behind them and what became of it, if there is one.
    pub(super) stopped: Option<(u32, Result<Taken, Undelivered>)>,
}

/// A message that waits for room in a mailbox, and then, what will be its answer.
pub(super) type Waiting = Pin<Box<dyn Future<Output = Result<Option<Answer>, Undelivered>> + Send>>;

type Migrate<M> = Box<dyn Fn(&[u8], Until) -> Result<Decoded<M>, DecodeError> + Send + Sync>;

/// An actor about to be exported by [`Node::export`](super::Node::export), with what it understands beside its
/// protocol as it is now.
///
/// ```
/// use greenroom::net::Export;
/// # use greenroom::{Actor, handlers};
/// # #[derive(Actor)]
/// # struct Book;
/// /// Version 2 said `quote(price: u32)`, in whole units.
/// #[handlers(wire = "acme.book/3")]
/// impl Book {
///     #[tell]
///     fn quote(&mut self, cents: u64) {
///         let _ = cents;
///     }
/// }
/// # #[greenroom::main]
/// # async fn main(system: greenroom::System) -> Result<(), Box<dyn std::error::Error>> {
/// let book = system.spawn::<Book>(Book).await?;
/// let export = Export::of(&book).migrate(2, "quote", |(price,): (u32,)| {
///     BookMessage::Quote { cents: u64::from(price) * 100 }
/// });
/// # let _ = export;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is exported before `Node::export`"]
pub struct Export<P: Protocol<Message: WireMessage>> {
    actor: Ref<P>,
    migrations: BTreeMap<(u16, MessageId), Migrate<P::Message>>,
    limit: Option<Rate>,
}

impl<P: Protocol<Message: WireMessage>> Export<P> {
    /// The actor as it is.
    pub fn of(actor: &Ref<P>) -> Self {
        Self { actor: actor.clone(), migrations: BTreeMap::new(), limit: None }
    }

    /// Lets each connection send so many messages to the actor, and refuses what is more as
    /// [`OverLimit`](Undelivered::OverLimit): told to who asked, and a dead letter for who told.
    pub fn limit(mut self, rate: Rate) -> Self {
        self.limit = Some(rate);
        self
    }

    /// Makes of what `message` said in version `version` what it says now. The arguments are a tuple, in the
    /// order in which they were written then; they are read by [`Postcard`].
    ///
    /// It is used for messages of nodes that speak that version, if the message does not look as it does now.
    pub fn migrate<Old: DeserializeOwned>(
        mut self,
        version: u16,
        message: &str,
        now: impl Fn(Old) -> P::Message + Send + Sync + 'static,
    ) -> Self {
        let migrate = move |arguments: &[u8], _: Until| Ok(Decoded::told(now(read(arguments)?)));
        self.migrations.insert((version, MessageId::of(message)), Box::new(migrate));
        self
    }

    /// As [`Export::migrate`], for a question, whose answer is still an `R`.
    pub fn migrate_ask<Old, R>(
        mut self,
        version: u16,
        message: &str,
        now: impl Fn(Old, Reply<R>) -> P::Message + Send + Sync + 'static,
    ) -> Self
    where
        Old: DeserializeOwned,
        R: Serialize + DeserializeOwned + Send + 'static,
    {
        let migrate = move |arguments: &[u8], until: Until| {
            let old = read(arguments)?;
            let (reply, answer) = question::<Postcard, R>(until);
            Ok(Decoded::asked(now(old, reply), answer))
        };
        self.migrations.insert((version, MessageId::of(message)), Box::new(migrate));
        self
    }

    pub(super) fn into_exported(self) -> Box<dyn Exported> {
        let recipient = self.actor.recipient_of().clone();
        let Self { actor, migrations, limit } = self;
        let manifest = P::Message::MANIFEST;
        let known = manifest.signatures().iter();
        let known =
            known.map(|shape| (MessageId::of(shape.name()), manifest.schema(shape))).collect();
        Box::new(Target { actor, recipient, known, migrations, limit })
    }
}

fn read<Old: DeserializeOwned>(mut arguments: &[u8]) -> Result<Old, DecodeError> {
    let old = codec::take(&mut arguments)?;
    codec::finish(arguments)?;
    Ok(old)
}

impl<P: Protocol<Message: WireMessage>> fmt::Debug for Export<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Export({})", self.actor.id())
    }
}

struct Target<P: Protocol> {
    actor: Ref<P>,
    recipient: Recipient<P::Message>,
    /// The messages as they are now, and what they look like.
    known: Box<[(MessageId, u32)]>,
    migrations: BTreeMap<(u16, MessageId), Migrate<P::Message>>,
    limit: Option<Rate>,
}

impl<P: Protocol<Message: WireMessage>> Target<P> {
    /// Makes a message of its bytes, and hands it in from where it is made: to move it on costs a good part of a small one.
    /// [ENV-7]
    fn take_in(&self, envelope: &Envelope<'_>, until: Until) -> Result<Taken, Undelivered> {
        let id = MessageId(envelope.message);
        let known = self.known.iter().find(|(known, _)| *known == id);
        let same = known.is_some_and(|(_, schema)| *schema == envelope.schema);
        let decoded = if planted!("net-schema-ignored": same => known.is_some()) {
            P::Message::decode(id, envelope.arguments, until)
        } else if let Some(migrate) = self.migrations.get(&(envelope.version, id)) {
            migrate(envelope.arguments, until)
        } else if known.is_some() {
            return Err(Undelivered::OtherSchema);
        } else {
            return Err(Undelivered::UnknownMessage);
        };
        let Decoded { message, answer } = match decoded {
            Ok(decoded) => decoded,
            Err(DecodeError::Unknown) => return Err(Undelivered::UnknownMessage),
            Err(DecodeError::Malformed(_) | DecodeError::TooDeep) => {
                return Err(reference::failure().unwrap_or(Undelivered::Malformed));
            }
        };
        match self.recipient.tell(message).try_send() {
            Ok(()) => Ok(Taken::In(answer)),
            Err(TellError::Expired(_)) => Err(Undelivered::Expired),
            Err(TellError::Closed(_)) => Err(Undelivered::NoSuchActor),
            Err(TellError::Full(message) | TellError::SystemFull(message)) => {
                Ok(Taken::Waits(Box::pin(wait(self.recipient.clone(), message, answer))))
            }
        }
    }
}

impl<P: Protocol<Message: WireMessage>> Exported for Target<P> {
    fn cell(&self) -> &CellRef {
        self.actor.cell()
    }

    fn is_closed(&self) -> bool {
        self.actor.is_closed()
    }

    fn protocol(&self) -> &'static str {
        P::Message::MANIFEST.name()
    }

    fn message(&self) -> &'static str {
        type_name::<P::Message>()
    }

    fn recipient(&self) -> &dyn Any {
        &self.recipient
    }

    fn take(
        &self,
        envelope: &Envelope<'_>,
        until: Until,
        by: &mut Lent,
    ) -> Result<Taken, Undelivered> {
        let mut taken = Err(Undelivered::Malformed);
        // A codec is anybody's code, and so is what drops a message.
        quietly(|| by.during(|| taken = self.take_in(envelope, until)));
        taken
    }

    fn take_run(&self, messages: &mut Tells<'_>, by: &mut Lent) -> Run {
        let mut run = Run { taken: 0, longest: 0, stopped: None };
        // Which one is under way, and what became of it if its codec panics.
        let (mut message, mut became) = (0, Err(Undelivered::Malformed));
        let all = || {
            for envelope in messages {
                message = envelope.message;
                run.longest = run.longest.max(envelope.arguments.len());
                // Of each, the reason is its own.
                reference::forget_failure();
                match self.take_in(&envelope, Until(Time::NEVER)) {
                    Ok(Taken::In(None)) => run.taken += 1,
                    other => {
                        became = other;
                        return;
                    }
                }
            }
            became = Ok(Taken::In(None));
        };
        // A codec is anybody's code, and so is what drops a message.
        quietly(|| by.during(all));
        let is_over = matches!(became, Ok(Taken::In(None)));
        run.stopped = (!is_over).then_some((message, became));
        run
    }

    fn limit(&self) -> Option<Rate> {
        self.limit
    }

    fn stop(&self) {
        self.actor.stop();
    }

    fn when_ended(&self, tell: Box<dyn FnOnce(Down) + Send>) -> WatchId {
        self.actor.when_ended(tell)
    }

    fn unwatch_end(&self, watch: WatchId) {
        self.actor.unwatch_end(watch);
    }
}

async fn wait<M: Message>(
    recipient: Recipient<M>,
    message: M,
    answer: Option<Answer>,
) -> Result<Option<Answer>, Undelivered> {
    match recipient.tell(message).await {
        Ok(()) => Ok(answer),
        // Larger than the whole mailbox, or than what the system has for all.
        Err(TellError::Full(_) | TellError::SystemFull(_)) => Err(Undelivered::TooLarge),
        Err(TellError::Expired(_)) => Err(Undelivered::Expired),
        Err(TellError::Closed(_)) => Err(Undelivered::NoSuchActor),
    }
}
