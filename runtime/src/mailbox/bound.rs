//! Room in a bounded mailbox: permits for messages and bytes.
//!
//! A sender takes the permits before it pushes, and the receiver returns them when it takes the
//! message out; so what waits never exceeds the bound. Waiting senders are served first come, first
//! served (tokio's semaphore).
//!
//! Dropping the oldest needs a queue that senders can take from. There the messages wait in a
//! *window* behind a lock, and the lane of the inbox carries one *ticket* while the window is not
//! empty; whoever handles the ticket takes the oldest message and renews the ticket.

use super::policy::{Full, Mailbox};
use crate::queue::node::Node;
use crate::sync::Mutex;
use std::collections::VecDeque;
use std::ptr::NonNull;
use tokio::sync::Semaphore;

/// What the bound says to a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// There is room, and it is taken.
    Admitted,
    /// There is none now.
    Full,
    /// The actor has ended.
    Closed,
}

/// The bound of one mailbox.
#[derive(Debug)]
pub(crate) struct Bound {
    mailbox: Mailbox,
    messages: Semaphore,
    bytes: Semaphore,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    nodes: VecDeque<(NonNull<Node>, usize)>,
    ticket: bool,
}

// SAFETY: the nodes' payloads are `Send`, and the lock gives each node to one thread.
unsafe impl Send for Window {}

impl Bound {
    /// The bound that `mailbox` asks for, if any.
    pub(crate) fn of(mailbox: Mailbox) -> Option<Box<Self>> {
        mailbox.is_bounded().then(|| {
            Box::new(Self {
                messages: Semaphore::new(mailbox.messages_max().unwrap_or(Semaphore::MAX_PERMITS)),
                bytes: Semaphore::new(mailbox.bytes_max().unwrap_or(Semaphore::MAX_PERMITS)),
                window: Mutex::new(Window { nodes: VecDeque::new(), ticket: false }),
                mailbox,
            })
        })
    }

    /// What happens to a message that does not fit and does not wait.
    pub(crate) fn when_full(&self) -> Full {
        self.mailbox.when_full()
    }

    /// Whether messages wait in the window.
    pub(crate) fn has_window(&self) -> bool {
        self.when_full() == Full::DropOldest
    }

    fn weigh(&self, bytes: usize) -> u32 {
        if self.mailbox.bytes_max().is_none() {
            0
        } else {
            u32::try_from(bytes).unwrap_or(u32::MAX)
        }
    }

    /// Whether a message of `bytes` could never fit.
    pub(crate) fn is_too_large(&self, bytes: usize) -> bool {
        self.mailbox.bytes_max().is_some_and(|max| bytes > max)
    }

    /// Takes room for a message of `bytes` if there is some now.
    pub(crate) fn try_admit(&self, bytes: usize) -> Admission {
        let Ok(message) = self.messages.try_acquire() else { return self.refusal() };
        let Ok(weight) = self.bytes.try_acquire_many(self.weigh(bytes)) else {
            return self.refusal();
        };
        message.forget();
        weight.forget();
        Admission::Admitted
    }

    fn refusal(&self) -> Admission {
        if self.messages.is_closed() { Admission::Closed } else { Admission::Full }
    }

    /// Waits for room for a message of `bytes`.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue and takes no room.
    pub(crate) async fn admit(&self, bytes: usize) -> Admission {
        if self.is_too_large(bytes) {
            return Admission::Full;
        }
        let Ok(message) = self.messages.acquire().await else { return Admission::Closed };
        let Ok(weight) = self.bytes.acquire_many(self.weigh(bytes)).await else {
            return Admission::Closed;
        };
        message.forget();
        weight.forget();
        Admission::Admitted
    }

    /// Gives back the room of a message of `bytes`.
    pub(crate) fn release(&self, bytes: usize) {
        self.messages.add_permits(1);
        if let Some(weight) = usize::try_from(self.weigh(bytes)).ok().filter(|&weight| weight > 0) {
            self.bytes.add_permits(weight);
        }
    }

    /// Ends every wait: the actor has ended.
    pub(crate) fn close(&self) {
        self.messages.close();
        self.bytes.close();
    }

    /// Puts an admitted message into the window; `true` if a ticket has to be sent.
    pub(crate) fn slide_in(&self, node: NonNull<Node>, bytes: usize) -> bool {
        let mut window = self.window.lock();
        window.nodes.push_back((node, bytes));
        !std::mem::replace(&mut window.ticket, true)
    }

    /// Takes the oldest message out of the window; `true` beside it if the ticket has to be renewed.
    /// Its room is given back when it is delivered.
    pub(crate) fn slide_out(&self) -> Option<(NonNull<Node>, bool)> {
        let mut window = self.window.lock();
        let oldest = window.nodes.pop_front();
        window.ticket = !window.nodes.is_empty();
        oldest.map(|(node, _)| (node, window.ticket))
    }

    /// Pushes the oldest message out of the window and gives its room back.
    pub(crate) fn evict(&self) -> Option<NonNull<Node>> {
        let (node, bytes) = self.window.lock().nodes.pop_front()?;
        self.release(bytes);
        Some(node)
    }
}
