//! A message between its typed form and its bytes.
//!
//! A question leaves its [`Reply`] behind with the node that sends it, which keeps it until the answer's
//! bytes come; and gets a new one at the node that receives it, whose answer is put into bytes.

use super::codec::{Codec, DecodeError, EncodeError, decode, encode, finish};
use super::manifest::{Manifest, MessageId};
use super::shape::Shape;
use super::{reference, spare};
use crate::actor::{Message, Reply};
use crate::event::Undelivered;
use crate::queue::oneshot;
use crate::sync::panic::quietly;
use crate::time::Time;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::task::{Context, Poll, ready};

/// The message of a protocol that crosses nodes; `#[handlers(wire = ..)]` writes it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not cross nodes",
    note = "write `#[handlers(wire = \"acme.book/1\")]` at its actor"
)]
pub trait WireMessage: Message<Reply = ()> {
    /// What the protocol looks like from outside.
    const MANIFEST: Manifest;

    /// What is inside of each message's parameters, and of its answer behind them; in the order of the manifest.
    #[must_use]
    fn shapes() -> Vec<Vec<Shape>> {
        Vec::new()
    }

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
        let waiting = Waiting { reply: Some(reply), codec: PhantomData::<fn() -> C> };
        Self { name, asker: Some(spare::boxed(waiting)) }
    }
}

/// Somebody on this node who waits for an answer's bytes.
pub(super) trait Asker: Any + Send {
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
    /// `None` when it was told.
    reply: Option<Reply<R>>,
    codec: PhantomData<fn() -> C>,
}

impl<C: Codec<R> + 'static, R: Send + 'static> Asker for Waiting<C, R> {
    fn until(&self) -> Time {
        self.reply.as_ref().map_or(Time::NEVER, Reply::deadline)
    }

    fn is_abandoned(&self) -> bool {
        self.reply.as_ref().is_none_or(Reply::is_abandoned)
    }

    fn answer(mut self: Box<Self>, outcome: Result<&[u8], Undelivered>) {
        let Some(reply) = self.reply.take() else { return };
        spare::give(self);
        let mut answer = Err(Undelivered::Malformed);
        // A codec is anybody's code, and so is what drops an answer that nobody waits for.
        quietly(|| answer = outcome.and_then(read::<C, R>));
        quietly(|| match answer {
            Ok(answer) => reply.send(answer),
            Err(why) => reply.undelivered(why),
        });
    }
}

/// Makes an answer of its bytes.
fn read<C: Codec<R>, R>(mut bytes: &[u8]) -> Result<R, Undelivered> {
    let malformed = || reference::failure().unwrap_or(Undelivered::Malformed);
    let answer = decode::<C, R>(&mut bytes).map_err(|_| malformed())?;
    finish(bytes).map_err(|_| Undelivered::Malformed)?;
    Ok(answer)
}

/// What becomes of a question.
pub(super) trait Answering: Any + Send {
    /// Puts the answer behind `bytes`, or says why there is none; then its box is empty.
    fn poll(&mut self, cx: &mut Context<'_>, bytes: &mut Vec<u8>) -> Poll<Result<(), Undelivered>>;
}

/// What will be the answer to a question.
pub(super) type Answer = Box<dyn Answering>;

struct Asked<C, R> {
    /// `None` when the answer was there.
    receiver: Option<oneshot::Receiver<R>>,
    codec: PhantomData<fn() -> C>,
}

impl<C: Codec<R> + 'static, R: Send + 'static> Answering for Asked<C, R> {
    fn poll(&mut self, cx: &mut Context<'_>, bytes: &mut Vec<u8>) -> Poll<Result<(), Undelivered>> {
        let no_reply = Poll::Ready(Err(Undelivered::NoReply));
        let Some(receiver) = &mut self.receiver else { return no_reply };
        let Some(answer) = ready!(receiver.poll(cx)) else {
            let why = Undelivered::of_code(receiver.refusal());
            self.receiver = None;
            return why.map_or(no_reply, |why| Poll::Ready(Err(why)));
        };
        self.receiver = None;
        Poll::Ready(
            encode::<C, R>(&answer, bytes)
                .map_err(|_| reference::failure().unwrap_or(Undelivered::NotEncoded)),
        )
    }
}

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
    let (reply, receiver) = Reply::pair(until.0);
    let asked = Asked { receiver: Some(receiver), codec: PhantomData::<fn() -> C> };
    (reply, AnswerBytes(spare::boxed(asked)))
}
