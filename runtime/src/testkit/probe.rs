//! An actor that collects what it is sent.

use super::observer::{Observer, Source};
use crate::actor::{Context, Handle, Message, Protocol, Recipient, Ref, SpawnError};
use crate::system::System;
use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::time::Duration;
use tokio::sync::mpsc;

/// What a probe answers to an ask.
type Answer<M> = Box<dyn FnMut(&M) -> <M as Message>::Reply + Send>;

/// The actor behind a probe.
#[derive(greenroom::Actor)]
struct Collector<M: Message> {
    mail: mpsc::UnboundedSender<M>,
    answer: Answer<M>,
}

#[greenroom::handlers]
impl<M: Message> Collector<M> {}

impl<M: Message> Handle<M> for Collector<M> {
    fn handle(&mut self, message: M, _: &mut Context<Self>) -> M::Reply {
        let reply = (self.answer)(&message);
        // An error means that the probe is gone; then nobody wants to know.
        let _ = self.mail.send(message);
        reply
    }
}

/// What a probe has received.
#[derive(Debug)]
pub struct Mail<M>(mpsc::UnboundedReceiver<M>);

impl<M: fmt::Debug + Send> Source for Mail<M> {
    type Item = M;

    fn next(&mut self) -> impl Future<Output = Option<M>> + Send {
        self.0.recv()
    }

    fn try_next(&mut self) -> Option<M> {
        self.0.try_recv().ok()
    }
}

/// An actor that collects every `M` it is sent, for a test to expect them: see the methods of
/// [`Observer`], which it dereferences to. It ends with the probe.
pub struct Probe<M: Message + fmt::Debug> {
    recipient: Recipient<M>,
    collector: Ref<Collector<M>>,
    observer: Observer<Mail<M>>,
}

impl<M: Message<Reply = ()> + fmt::Debug> Probe<M> {
    /// Starts a probe.
    ///
    /// # Errors
    /// [`SpawnError::Closed`] when the system is ending.
    pub async fn spawn(system: &System) -> Result<Self, SpawnError> {
        Self::answering(system, |_| ()).await
    }

    /// A reference to an actor that speaks `P`, which the probe stands in for: `P` is an actor, or a
    /// protocol made by `#[handlers(api = ..)]`, and `M` the message enum that is generated for it. What
    /// it is asked comes with a [`Reply`](crate::Reply), for the test to answer.
    #[must_use]
    pub fn reference<P: Protocol<Message = M>>(&self) -> Ref<P> {
        Ref::from_recipient(self.recipient.clone())
    }
}

impl<M: Message + fmt::Debug> Probe<M> {
    /// Starts a probe that answers whoever asks it.
    ///
    /// # Errors
    /// [`SpawnError::Closed`] when the system is ending.
    pub async fn answering(
        system: &System,
        answer: impl FnMut(&M) -> M::Reply + Send + 'static,
    ) -> Result<Self, SpawnError> {
        let (sender, mail) = mpsc::unbounded_channel();
        let collector = Collector { mail: sender, answer: Box::new(answer) };
        let collector = system.spawn::<Collector<M>>(collector).await?;
        let recipient = collector.recipient();
        Ok(Self { recipient, collector, observer: Observer::new(system, Mail(mail)) })
    }

    /// Lets every later expectation wait so long.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.observer.set_deadline(deadline);
        self
    }

    /// The reference to give to those who are to send to the probe.
    #[must_use]
    pub fn recipient(&self) -> Recipient<M> {
        self.recipient.clone()
    }
}

impl<M: Message + fmt::Debug> Deref for Probe<M> {
    type Target = Observer<Mail<M>>;

    fn deref(&self) -> &Self::Target {
        &self.observer
    }
}

impl<M: Message + fmt::Debug> DerefMut for Probe<M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.observer
    }
}

impl<M: Message + fmt::Debug> Drop for Probe<M> {
    fn drop(&mut self) {
        self.collector.stop();
    }
}

impl<M: Message + fmt::Debug> fmt::Debug for Probe<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("observer", &self.observer).finish_non_exhaustive()
    }
}
