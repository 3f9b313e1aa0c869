//! The kinds of mailboxes: bounded or not, and whether messages are taken one by one.

use std::future::Future;
use tokio::sync::mpsc;

const CAPACITY: usize = 1024;
/// How many messages the `many` receiver takes at a time.
const MANY: usize = 64;

/// A kind of mailbox.
pub(super) trait Channel: 'static {
    type Sender<T: Send + 'static>: Clone + Send + Sync + 'static;
    type Receiver<T: Send + 'static>: Send + 'static;

    fn new<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
    fn send<T: Send + 'static>(
        sender: &Self::Sender<T>,
        message: T,
    ) -> impl Future<Output = bool> + Send;
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send;

    /// Handles every message, in the way that is the fastest for this kind.
    #[inline]
    fn each<T: Send + 'static>(
        mut receiver: Self::Receiver<T>,
        mut handle: impl FnMut(T) + Send,
    ) -> impl Future<Output = ()> + Send {
        async move {
            while let Some(message) = Self::next(&mut receiver).await {
                handle(message);
            }
        }
    }
}

pub(super) struct Unbounded;

impl Channel for Unbounded {
    type Sender<T: Send + 'static> = mpsc::UnboundedSender<T>;
    type Receiver<T: Send + 'static> = mpsc::UnboundedReceiver<T>;

    fn new<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        mpsc::unbounded_channel()
    }

    #[inline]
    async fn send<T: Send + 'static>(sender: &Self::Sender<T>, message: T) -> bool {
        sender.send(message).is_ok()
    }

    #[inline]
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send {
        receiver.recv()
    }
}

pub(super) struct Bounded;

impl Channel for Bounded {
    type Sender<T: Send + 'static> = mpsc::Sender<T>;
    type Receiver<T: Send + 'static> = mpsc::Receiver<T>;

    fn new<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        mpsc::channel(CAPACITY)
    }

    #[inline]
    async fn send<T: Send + 'static>(sender: &Self::Sender<T>, message: T) -> bool {
        sender.send(message).await.is_ok()
    }

    #[inline]
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send {
        receiver.recv()
    }
}

/// An unbounded channel whose receiver takes up to [`MANY`] messages at a time.
pub(super) struct Many;

impl Channel for Many {
    type Sender<T: Send + 'static> = mpsc::UnboundedSender<T>;
    type Receiver<T: Send + 'static> = mpsc::UnboundedReceiver<T>;

    fn new<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        mpsc::unbounded_channel()
    }

    #[inline]
    async fn send<T: Send + 'static>(sender: &Self::Sender<T>, message: T) -> bool {
        sender.send(message).is_ok()
    }

    #[inline]
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send {
        receiver.recv()
    }

    #[inline]
    async fn each<T: Send + 'static>(
        mut receiver: Self::Receiver<T>,
        mut handle: impl FnMut(T) + Send,
    ) {
        let mut taken = Vec::with_capacity(MANY);
        while receiver.recv_many(&mut taken, MANY).await > 0 {
            taken.drain(..).for_each(&mut handle);
        }
    }
}
