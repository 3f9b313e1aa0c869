//! A scheduler of one's own: high actors go first, then work in hand, then work from outside.
//!
//! ```text
//! cargo run --example 10_custom_scheduler
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use greenroom::{Actor, Batch, Hint, Origin, Priority, Ready, ReadyQueue, Ref, Scheduler};
use greenroom::{System, WorkerId, handlers, testing};
use parking_lot::Mutex;

/// Picks in which each class comes first once.
const PICKS: usize = 8;

/// Ready actors in three classes: high ones, those whose mail comes from other actors, and the rest.
#[derive(Debug, Default)]
struct Classes {
    ready: [VecDeque<Ready>; 3],
    picks: usize,
}

impl Classes {
    fn class(from: Origin, ready: &Ready) -> usize {
        match (ready.priority(), from) {
            (Priority::High, _) => 0,
            (_, Origin::Worker(_)) => 1,
            (_, Origin::External) => 2,
        }
    }

    fn pop(&mut self) -> Option<Ready> {
        // Without their turns, actors that keep each other busy would lock out the rest for ever.
        self.picks = (self.picks + 1) % PICKS;
        let in_turn = [2, 1].get(self.picks).copied();
        in_turn.into_iter().chain(0..3).find_map(|class| self.ready[class].pop_front())
    }
}

#[derive(Debug, Default)]
struct UrgentFirst(Mutex<Classes>);

impl ReadyQueue for UrgentFirst {
    fn push(&self, from: Origin, ready: Ready, _hint: Hint) {
        let class = Classes::class(from, &ready);
        self.0.lock().ready[class].push_back(ready);
    }

    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        // One at a time: what comes in meanwhile may be more urgent.
        if let Some(ready) = self.0.lock().pop() {
            batch.push(ready);
        }
    }

    fn has_work(&self, _worker: WorkerId) -> bool {
        self.len() > 0
    }

    fn len(&self) -> usize {
        self.0.lock().ready.iter().map(VecDeque::len).sum()
    }
}

/// Takes an order from outside and passes it on, or cooks it.
#[derive(Actor)]
struct Staff {
    cook: Option<Ref<Self>>,
    /// Orders that are open, and the most there were.
    open: Arc<[AtomicUsize; 2]>,
}

#[handlers]
impl Staff {
    #[tell]
    fn order(&mut self) {
        let [open, most] = &*self.open;
        most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        // Its mailbox is unbounded, and it lives as long as this actor.
        let _ = self.cook.as_ref().map(|cook| cook.cook().try_send());
    }

    #[tell]
    fn cook(&mut self) {
        self.open[0].fetch_sub(1, Ordering::Relaxed);
    }
}

/// Comes last to the kitchen door and goes in first.
#[derive(Actor)]
struct Inspector {
    open: Arc<[AtomicUsize; 2]>,
    /// Orders that were open when it came in.
    seen: Arc<AtomicUsize>,
}

#[handlers]
impl Inspector {
    #[tell]
    fn visit(&mut self) {
        self.seen.store(self.open[0].load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Has everybody come at one time: while it speaks, it has the only worker.
#[derive(Actor)]
struct Chef;

#[handlers]
impl Chef {
    #[tell]
    fn call(&mut self, cooks: Vec<Ref<Staff>>, inspector: Ref<Inspector>) {
        // Their mailboxes are unbounded, and they live as long as this actor.
        cooks.iter().for_each(|cook| drop(cook.cook().try_send()));
        drop(inspector.visit().try_send());
    }
}

/// Orders that are open when an urgent actor has its turn, of so many that were there before it.
async fn open_at_visit(
    scheduler: Scheduler,
    orders: usize,
) -> Result<usize, Box<dyn std::error::Error>> {
    let system = System::builder().workers(1).scheduler(scheduler).build()?;
    let open = Arc::new([AtomicUsize::new(orders), AtomicUsize::new(0)]);
    let mut cooks = Vec::new();
    for _ in 0..orders {
        cooks.push(system.spawn::<Staff>(Staff { cook: None, open: Arc::clone(&open) }).await?);
    }
    let seen = Arc::new(AtomicUsize::new(0));
    let inspector = Inspector { open, seen: Arc::clone(&seen) };
    let inspector = system.spawn::<Inspector>(inspector).priority(Priority::High).await?;
    let chef = system.spawn::<Chef>(Chef).await?;
    chef.call(cooks, inspector.clone()).await?;
    chef.drain();
    chef.ended().await;
    inspector.drain();
    inspector.ended().await;
    system.shutdown(Duration::from_secs(5)).await?;
    Ok(seen.load(Ordering::Relaxed))
}

/// The most orders that were open at once, of a hundred.
async fn most_open(scheduler: Scheduler) -> Result<usize, Box<dyn std::error::Error>> {
    let system = System::builder().workers(1).scheduler(scheduler).build()?;
    let open = <Arc<[AtomicUsize; 2]>>::default();
    let staff = |cook| Staff { cook, open: Arc::clone(&open) };
    let (mut waiters, mut cooks) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let cook = system.spawn::<Staff>(staff(None)).await?;
        waiters.push(system.spawn::<Staff>(staff(Some(cook.clone()))).await?);
        cooks.push(cook);
    }
    for waiter in &waiters {
        waiter.order().await?;
    }
    for worker in waiters.iter().chain(&cooks) {
        worker.drain();
        worker.ended().await;
    }
    system.shutdown(Duration::from_secs(5)).await?;
    Ok(open[1].load(Ordering::Relaxed))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    testing::ready_queue_conforms(|_workers| UrgentFirst::default());
    let ours = most_open(Scheduler::custom(|_workers| UrgentFirst::default())).await?;
    println!("in hand first: at most {ours} orders were open at once");
    let theirs = most_open(Scheduler::locked()).await?;
    println!("in order of arrival: at most {theirs}");

    let seen = open_at_visit(Scheduler::custom(|_workers| UrgentFirst::default()), 20).await?;
    println!("urgent first: {seen} of 20 orders were open when the inspector came in");
    // One cook may have had the turn of its class.
    assert!(seen >= 19, "high actors go first");
    Ok(())
}
