//! What a mailbox holds at most while threads send to it.

use crate::backpressure::{
    BYTES, DroppingNewest, DroppingOldest, Gate, Gated, MESSAGES, Policy, Rejecting, Waiting,
};
use crate::support::{block_on, everywhere};
use greenroom::{Context, Full, Message, Ref};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

/// What is in a mailbox, counted from outside: in when it was accepted, out when it is dropped.
#[derive(Default)]
struct Gauge {
    messages: AtomicI64,
    bytes: AtomicI64,
}

struct Counted {
    bytes: i64,
    gauge: Option<Arc<Gauge>>,
}

impl Message for Counted {
    type Reply = ();

    fn heap_bytes(&self) -> usize {
        usize::try_from(self.bytes).expect("positive") - size_of::<Self>()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(gauge) = &self.gauge {
            gauge.messages.fetch_sub(1, Ordering::SeqCst);
            gauge.bytes.fetch_sub(self.bytes, Ordering::SeqCst);
        }
    }
}

const SENDERS: i64 = 3;
const BYTES_EACH_MAX: i64 = 45;

impl Gauge {
    /// Sends in one of the three ways, and checks what is in the mailbox then.
    fn send<P: Policy>(self: &Arc<Self>, to: &Ref<Gate<P>>, number: i64) {
        let bytes = BYTES_EACH_MAX - number * 7 % 25;
        let message = to.tell(Counted { bytes, gauge: Some(Arc::clone(self)) });
        let sent = match number % 3 {
            0 => message.tell(),
            1 => message.try_send(),
            _ => block_on(message.into_future()),
        };
        if let Err(error) = sent {
            error.into_message().gauge = None;
            return;
        }
        let messages = self.messages.fetch_add(1, Ordering::SeqCst) + 1;
        let bytes = self.bytes.fetch_add(bytes, Ordering::SeqCst) + bytes;
        // One more may have left the mailbox and not yet be dropped by its handler, and one more for
        // each sender that drops the oldest.
        let drops_oldest = P::MAILBOX.when_full() == Full::DropOldest;
        let leaving = if drops_oldest { 1 + SENDERS } else { 1 };
        assert!(messages <= MESSAGES as i64 + leaving, "{messages} messages");
        assert!(bytes <= BYTES as i64 + leaving * BYTES_EACH_MAX, "{bytes} bytes");
    }
}

impl<P: Policy> greenroom::Handle<Counted> for Gate<P> {
    fn handle(&mut self, message: Counted, _cx: &mut Context<Self>) {
        drop(message);
    }
}

/// Threads send as fast as they can; the mailbox never holds more than its bound.
fn stays_within_its_bound<P: Policy>() {
    everywhere(async |system| {
        let gated = Gated::<P>::spawn(system, None).await;
        let gauge = Arc::new(Gauge::default());
        let send = |_| {
            let (gauge, actor) = (Arc::clone(&gauge), gated.actor.clone());
            thread::spawn(move || (0..600).for_each(|number| gauge.send(&actor, number)))
        };
        let threads: Vec<_> = (0..SENDERS).map(send).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("the bound is kept"));
        gated.finish().await;
        assert_eq!(gauge.messages.load(Ordering::SeqCst), 0, "nothing is left");
        assert_eq!(gauge.bytes.load(Ordering::SeqCst), 0, "nothing is left");
    });
}

// [G-BOUND-1]
#[test]
fn it_stays_within_its_bound_where_senders_wait() {
    stays_within_its_bound::<Waiting>();
}

// [G-BOUND-1]
#[test]
fn it_stays_within_its_bound_where_senders_are_rejected() {
    stays_within_its_bound::<Rejecting>();
}

// [G-BOUND-1]
#[test]
fn it_stays_within_its_bound_where_the_newest_is_dropped() {
    stays_within_its_bound::<DroppingNewest>();
}

// [G-BOUND-1]
#[test]
fn it_stays_within_its_bound_where_the_oldest_is_dropped() {
    stays_within_its_bound::<DroppingOldest>();
}
