//! A message between its typed form and its bytes.
//!
//! A question leaves its [`Reply`] behind with the node that sends it, which keeps it until the answer's
//! bytes come; and gets a new one at the node that receives it, whose answer is put into bytes.

use super::codec::{Codec, DecodeError, EncodeError, decode, encode, finish};
use super::manifest::{Manifest, MessageId};
use super::reference;
use crate::actor::{Message, Reply};
use crate::event::Undelivered;
use crate::time::Time;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;

/// The message of a protocol that crosses nodes; `#[handlers(wire = ..)]` writes it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not cross nodes",
    note = "write `#[handlers(wire = \"acme.book/1\")]` at its actor"
)]
pub trait WireMessage: Message<Reply = ()> {
    /// What the protocol looks like from outside.
    const MANIFEST: Manifest;

    /// Puts the arguments behind `bytes`.
    ///
    /// # Errors
    /// [`EncodeError`] when one cannot be put into bytes; whoever asked gets no reply.
    fn encode(self, bytes: &mut Vec<u8>) -> Result<Encoded, EncodeError>;

    /// Makes the message of its arguments.
    ///
    /// # Errors
    /// [`DecodeError`] when they are not those of the message.
    fn decode(id: MessageId, bytes: &[u8], until: Until) -> Result<Decoded<Self>, DecodeError>;
}

/// Until when a question waits for its answer, by the clock of the node.
#[derive(Clone, Copy, Debug)]
pub struct Until(pub(super) Time);

/// What is left of a message that was put into bytes.
#[derive(Debug)]
pub struct Encoded {
    /// The handler's name.
    pub(super) name: &'static str,
    /// Who waits for the answer.
    pub(super) asker: Option<Box<dyn Asker>>,
}

impl Encoded {
    /// What is left of a message that nobody waits for.
    #[must_use]
    pub fn told(name: &'static str) -> Self {
        Self { name, asker: None }
    }

    /// What is left of a question.
    #[must_use]
    pub fn asked<C: Codec<R> + 'static, R: Send + 'static>(
        name: &'static str,
        reply: Reply<R>,
    ) -> Self {
        let waiting = Waiting { reply, codec: PhantomData::<fn() -> C> };
        Self { name, asker: Some(Box::new(waiting)) }
    }
}

/// Somebody on this node who waits for an answer's bytes.
pub(super) trait Asker: Send {
    /// Until when.
    fn until(&self) -> Time;
    /// Whether nobody waits any more.
    fn is_abandoned(&self) -> bool;
    /// Tells the outcome.
    fn answer(self: Box<Self>, outcome: Result<&[u8], Undelivered>);
}

impl fmt::Debug for dyn Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asker")
    }
}

struct Waiting<C, R> {
    reply: Reply<R>,
    codec: PhantomData<fn() -> C>,
}

impl<C: Codec<R>, R: Send> Asker for Waiting<C, R> {
    fn until(&self) -> Time {
        self.reply.deadline()
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_abandoned()
    }

    fn answer(self: Box<Self>, outcome: Result<&[u8], Undelivered>) {
        let answer = outcome.and_then(|mut bytes| {
            let malformed = || reference::failure().unwrap_or(Undelivered::Malformed);
            let answer = decode::<C, R>(&mut bytes).map_err(|_| malformed())?;
            finish(bytes).map_err(|_| Undelivered::Malformed)?;
            Ok(answer)
        });
        match answer {
            Ok(answer) => self.reply.send(answer),
            Err(why) => self.reply.undelivered(why),
        }
    }
}

/// The bytes of an answer, or why there are none.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Vec<u8>, Undelivered>> + Send>>;

/// A message that was made of its bytes.
pub struct Decoded<M> {
    pub(super) message: M,
    /// What will be the answer to a question.
    pub(super) answer: Option<Answer>,
}

impl<M> Decoded<M> {
    /// A message that nobody waits for.
    #[must_use]
    pub fn told(message: M) -> Self {
        Self { message, answer: None }
    }

    /// A question, which holds the reply that `answer` waits for.
    #[must_use]
    pub fn asked(message: M, answer: AnswerBytes) -> Self {
        Self { message, answer: Some(answer.0) }
    }
}

impl<M> fmt::Debug for Decoded<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoded").field("asks", &self.answer.is_some()).finish_non_exhaustive()
    }
}

/// What will be the bytes of an answer.
pub struct AnswerBytes(Answer);

impl fmt::Debug for AnswerBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerBytes")
    }
}

/// A reply for a question that came from another node, and the bytes of what it will be sent.
#[doc(hidden)]
pub fn question<C: Codec<R> + 'static, R: Send + 'static>(until: Until) -> (Reply<R>, AnswerBytes) {
    let (reply, mut receiver) = Reply::pair(until.0);
    let answer = async move {
        let Some(answer) = poll_fn(|cx| receiver.poll(cx)).await else {
            let why = Undelivered::of_code(receiver.refusal());
            return Err(why.unwrap_or(Undelivered::NoReply));
        };
        let mut bytes = Vec::new();
        encode::<C, R>(&answer, &mut bytes).map_err(|_| Undelivered::NotEncoded)?;
        Ok(bytes)
    };
    (reply, AnswerBytes(Box::pin(answer)))
}
