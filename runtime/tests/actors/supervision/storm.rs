//! Failures of many children at once, under load: what becomes of the mail, and in which order.

use crate::supervision::patient::HOUR;
use crate::support::{Builds, Dice, Ledger, Parcel, SCHEDULERS, Violations, policies};
use greenroom::{
    Actor, Context, Ref, Scheduler, Shutdown, StartError, Supervision, Supervisor, System, handlers,
};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MEMBERS: usize = 5;
const SENDERS: usize = 2;
const MESSAGES: u64 = 400;

/// The last number that was handled, by sender; it outlives incarnations.
type Seen = Arc<[AtomicU64; SENDERS]>;

#[derive(Actor)]
struct Sailor {
    seen: Seen,
    violations: Violations,
}

#[handlers]
impl Sailor {
    #[start]
    fn start(seen: Seen, violations: Violations) -> Self {
        Self { seen, violations }
    }
    #[tell]
    fn take(&mut self, sender: usize, number: u64, parcel: Parcel) {
        self.see(sender, number);
        parcel.handled();
    }
    #[tell]
    async fn take_slowly(&mut self, sender: usize, number: u64, parcel: Parcel) {
        self.see(sender, number);
        tokio::task::yield_now().await;
        parcel.handled();
    }
    #[tell]
    fn fall(&mut self, sender: usize, number: u64, _parcel: Parcel) {
        self.see(sender, number);
        panic!("as told")
    }
    fn see(&self, sender: usize, number: u64) {
        let before = self.seen[sender].swap(number, Ordering::SeqCst);
        let wrong = format_args!("{number} after {before} from sender {sender}");
        self.violations.check(before < number, wrong);
    }
}

policies! {
    Policy { SUPERVISION: Supervision }
    Alone = Supervision::one_for_one(u32::MAX, HOUR);
    Together = Supervision::one_for_all(u32::MAX, HOUR);
    Rest = Supervision::rest_for_one(u32::MAX, HOUR);
}

struct Captain<P> {
    sailors: Vec<Ref<Sailor>>,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Captain<P> {}

impl<P: Policy> Supervisor for Captain<P> {
    const SUPERVISION: Supervision = P::SUPERVISION;
}

#[handlers]
impl<P: Policy> Captain<P> {
    #[start]
    async fn start(
        seen: Vec<Seen>,
        violations: Violations,
        cx: &mut Context<Self>,
    ) -> Result<Self, StartError> {
        let mut sailors = Vec::new();
        for (nth, seen) in seen.into_iter().enumerate() {
            // Some are killed in the middle of a message when another one fails.
            let shutdown = if nth % 2 == 0 { Shutdown::Forever } else { Shutdown::Kill };
            let sailor = cx.supervise::<Sailor>((seen, violations.clone()));
            sailors.push(sailor.shutdown(shutdown).await?);
        }
        Ok(Self { sailors, of: PhantomData })
    }
    #[ask]
    fn sailors(&self) -> Vec<Ref<Sailor>> {
        self.sailors.clone()
    }
}

/// Sends to random sailors, some of whom fall over it.
async fn send(sailors: Vec<Ref<Sailor>>, ledger: Arc<Ledger>, sender: usize, seed: u64) {
    let mut dice = Dice::new(seed);
    for number in 1..=MESSAGES {
        let sailor = &sailors[usize::try_from(dice.below(MEMBERS as u64)).expect("a few")];
        let parcel = ledger.issue();
        let sent = match dice.below(10) {
            0 => sailor.fall(sender, number, parcel).await,
            1..=3 => sailor.take_slowly(sender, number, parcel).await,
            _ => sailor.take(sender, number, parcel).await,
        };
        sent.expect("restarts refuse nothing");
        if dice.below(8) == 0 {
            tokio::task::yield_now().await;
        }
    }
}

fn storm<P: Policy>(scheduler: Scheduler, workers: usize, seed: u64) {
    let system = System::builder().workers(workers).scheduler(scheduler).own();
    let ledger = Ledger::new(SENDERS * usize::try_from(MESSAGES).expect("a few"));
    let violations = Violations::default();
    crate::support::run(async {
        let seen: Vec<Seen> = (0..MEMBERS).map(|_| Seen::default()).collect();
        let captain = system.spawn::<Captain<P>>((seen, violations.clone()));
        let captain = captain.await.expect("it starts");
        let sailors = captain.sailors().await.expect("it lives");
        let sends: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let ledger = Arc::clone(&ledger);
                tokio::spawn(send(sailors.clone(), ledger, sender, seed + sender as u64))
            })
            .collect();
        for send in sends {
            crate::support::soon(send).await.expect("it ends");
        }
        // Everybody is still there, and handles what is left.
        for sailor in &sailors {
            assert!(!sailor.is_closed());
            sailor.drain();
            crate::support::soon(sailor.ended()).await;
        }
        system.shutdown(Duration::from_secs(20)).await.expect("every actor ends");
    });
    violations.assert_none();
    let counts = system.counts();
    let tally = ledger.settle(&counts);
    assert_eq!(tally.issued, SENDERS as u64 * MESSAGES);
    assert_eq!(
        tally.dropped, counts.dead_crashed,
        "only what somebody fell over, or was killed at"
    );
    assert!(counts.restarts >= counts.panics, "{counts:?}");
    assert_eq!(counts.ended, counts.started);
}

// [G-SUPERVISE-1] [G-RESTART-2] [G-RESTART-3] [G-ORDER-2] [G-DELIVERY-1]
#[test]
fn no_mail_is_lost_and_none_overtakes_however_many_fall() {
    for (nth, scheduler) in SCHEDULERS.into_iter().enumerate() {
        for workers in [1, 2, 4] {
            let seed = 100 * nth as u64 + workers as u64;
            storm::<Alone>(scheduler(), workers, seed);
            storm::<Together>(scheduler(), workers, seed);
            storm::<Rest>(scheduler(), workers, seed);
        }
    }
}
