//! An actor that says what it begins with, and goes on with the next only when it is let.

use crate::support::{policies, soon};
use greenroom::{
    Actor, Context, Full, HandleAsync, Mailbox, Message, Options, Pressure, Ref, System,
};
use std::marker::PhantomData;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};

policies! {
    /// Tells the mailboxes of otherwise equal actors apart.
    Policy { MAILBOX: Mailbox }
    Plain = Mailbox::unbounded();
    Sensitive = Mailbox::unbounded().overload(4);
    Bounded = Mailbox::bounded(3);
    Newest = Mailbox::bounded(100).full(Full::DropNewest);
    Oldest = Mailbox::bounded(100).full(Full::DropOldest);
}

/// A message of as many bytes as it says, itself included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) number: u32,
    pub(crate) bytes: usize,
}

pub(crate) fn load(number: u32) -> Load {
    heavy(number, size_of::<Load>())
}

pub(crate) fn heavy(number: u32, bytes: usize) -> Load {
    Load { number, bytes }
}

impl Message for Load {
    type Reply = u32;

    fn heap_bytes(&self) -> usize {
        self.bytes - size_of::<Self>()
    }
}

pub(crate) struct Gate<P> {
    began: mpsc::UnboundedSender<u32>,
    permits: Arc<Semaphore>,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Gate<P> {
    const OPTIONS: Options = Options::new().mailbox(P::MAILBOX);
}

#[greenroom::handlers]
impl<P: Policy> Gate<P> {
    #[start]
    fn start(began: mpsc::UnboundedSender<u32>, permits: Arc<Semaphore>) -> Self {
        Self { began, permits, of: PhantomData }
    }
}

impl<P: Policy> HandleAsync<Load> for Gate<P> {
    async fn handle(&mut self, load: Load, _cx: &mut Context<Self>) -> u32 {
        // An error means that the test is over.
        let _ = self.began.send(load.number);
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
        load.number
    }
}

/// An actor behind a gate, and the test's side of the gate.
pub(crate) struct Gated<P: Policy> {
    pub(crate) actor: Ref<Gate<P>>,
    began: mpsc::UnboundedReceiver<u32>,
    permits: Arc<Semaphore>,
}

impl<P: Policy> Gated<P> {
    /// An actor that handles message 0, and has not handled anything else.
    pub(crate) async fn busy(system: &System) -> Self {
        let (sender, began) = mpsc::unbounded_channel();
        let permits = Arc::new(Semaphore::new(0));
        let args = (sender, Arc::clone(&permits));
        let actor = system.spawn::<Gate<P>>(args).await.unwrap();
        let mut gated = Self { actor, began, permits };
        gated.actor.tell(load(0)).try_send().unwrap();
        assert_eq!(gated.begun().await, 0);
        gated
    }

    /// The number of the next message that it begins with.
    pub(crate) async fn begun(&mut self) -> u32 {
        soon(self.began.recv()).await.unwrap()
    }

    /// Lets the running handler return, and waits until the next one has begun.
    pub(crate) async fn next(&mut self) -> u32 {
        self.permits.add_permits(1);
        self.begun().await
    }

    pub(crate) fn pressure(&self) -> Pressure {
        self.actor.pressure().unwrap()
    }

    /// Lets all handlers return.
    pub(crate) fn open(&self) {
        self.permits.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}
