//! A supervised pool whose workers end, all at once or one by one: it starts again with new ones, keeps its mail, and loses
//! what they had accepted.

use super::{
    Arc, CLIENTS, Duration, Group, LONG, Ledger, Parcel, Pool, Ref, SCHEDULINGS, SEEDS, Scheduling,
    Violations, Workers, World, mpsc, scheduled,
};
use greenroom::sim::Explore;
use greenroom::{Actor, ActorId, Context, DeadLetters, Event, EventStream, StartError, handlers};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Letters of each client.
const LETTERS: usize = 20;
/// Workers that the pool is declared with.
const DECLARED: usize = 3;
/// Times that somebody ends workers.
const BLOWS: usize = 5;

/// How many workers are there.
#[derive(Clone)]
struct Attendance {
    up: Arc<AtomicUsize>,
    violations: Violations,
}

/// That one of them is.
struct Presence(Attendance);

impl Presence {
    fn new(attendance: Attendance) -> Self {
        let before = attendance.up.fetch_add(1, Relaxed);
        let wrong = format_args!("{before} are there before another one of {DECLARED}");
        attendance.violations.check(before < DECLARED, wrong);
        Self(attendance)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.up.fetch_sub(1, Relaxed);
    }
}

/// Is not restarted by itself.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Fragile(Presence);

#[handlers]
impl Fragile {
    #[start]
    async fn start(attendance: Attendance) -> Self {
        let presence = Presence::new(attendance);
        tokio::task::yield_now().await;
        Self(presence)
    }
    #[stop]
    async fn stop(&mut self) {
        tokio::task::yield_now().await;
    }
    #[tell]
    async fn take(&mut self, parcel: Parcel) {
        tokio::task::yield_now().await;
        parcel.handled();
    }
    #[tell]
    fn crash(&mut self, parcel: Parcel) {
        let there = self.0.0.up.load(Relaxed);
        panic!("as told, with {parcel:?} and {there} there");
    }
}

#[derive(Actor)]
#[actor(supervise = one_for_one(1000 in "1h"))]
struct Head(Ref<Pool<Fragile>>);

#[handlers]
impl Head {
    #[start]
    async fn start(workers: Workers<Fragile>, cx: &mut Context<Self>) -> Result<Self, StartError> {
        Ok(Self(cx.supervise::<Pool<Fragile>>(workers).await?))
    }
    #[ask]
    fn pool(&self) -> Ref<Pool<Fragile>> {
        self.0.clone()
    }
}

/// Sends letters, of which some crash who gets them.
async fn write(pool: Ref<Pool<Fragile>>, ledger: Arc<Ledger>, picks: Vec<usize>) {
    for pick in picks {
        let parcel = ledger.issue();
        let told = match pick {
            0 => pool.crash(parcel).await,
            _ => pool.take(parcel).await,
        };
        assert!(told.is_ok(), "its references stay valid");
    }
}

/// Kills some workers, or all at once.
async fn strike(group: Group<Fragile>, blows: Vec<[usize; 2]>) {
    for [count, pause] in blows {
        for _ in 0..pause {
            tokio::task::yield_now().await;
        }
        for worker in group.members().iter().take(count) {
            worker.kill();
        }
    }
}

/// How often the pool was started again, and how many letters were lost with it and not with a worker.
fn look_back(pool: ActorId, events: &mut EventStream, letters: &mut DeadLetters) -> [usize; 2] {
    let (mut restarts, mut lost) = (0, 0);
    while let Some(event) = events.try_next() {
        let is_its = matches!(event, Event::Restarting { actor, .. } if actor == pool);
        restarts += usize::from(is_its);
    }
    while let Some(letter) = letters.try_next() {
        lost += usize::from(letter.actor == pool);
    }
    assert_eq!((events.missed(), letters.missed()), (0, 0));
    [restarts, lost]
}

fn play(world: &mut World, scheduler: Scheduling) {
    let count = 1 + world.pick(3);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(count), scheduler));
    let system = node.start().system();
    let (violations, group) = (Violations::default(), Group::new());
    let attendance = Attendance { up: Arc::default(), violations: violations.clone() };
    let workers = Pool::of(DECLARED, move || attendance.clone()).group(&group);
    let (mut events, mut letters) = (system.events(), system.dead_letters());
    let head = world.run(system.spawn::<Head>(workers).into_future()).unwrap();
    let pool = world.run(head.pool().into_future()).unwrap();
    let ledger = Ledger::new(CLIENTS * LETTERS);
    let (is_there, mut all_done) = mpsc::channel::<()>(1);
    for _ in 0..CLIENTS {
        let picks = (0..LETTERS).map(|_| world.pick(10)).collect();
        let client = write(pool.clone(), Arc::clone(&ledger), picks);
        let is_there = is_there.clone();
        world.spawn(async move {
            client.await;
            drop(is_there);
        });
    }
    let blows = (0..BLOWS).map(|_| [1 + world.pick(DECLARED), world.pick(16)]).collect();
    let breaker = strike(group.clone(), blows);
    world.spawn(async move {
        breaker.await;
        drop(is_there);
    });
    let left = world.run_within(Duration::from_secs(10), async {
        all_done.recv().await;
        system.await_idle(LONG).await.unwrap();
        let left = group.members().len();
        system.drain(LONG).await.unwrap();
        left
    });
    violations.assert_none();
    assert!((1..=DECLARED).contains(&left), "{left} workers are left");
    let (tally, counts) = (ledger.tally(), system.counts());
    assert_eq!((tally.lost, tally.returned), (0, 0), "{tally:?}");
    assert_eq!(tally.dropped, counts.dead_stopped + counts.dead_crashed, "{tally:?}, {counts:?}");
    let [restarts, lost] = look_back(pool.id(), &mut events, &mut letters);
    // The one that it was handing on when there was nobody any more.
    assert!(lost <= restarts, "{lost} letters of the pool are lost in {restarts} restarts");
    world.sometimes("a pool is started again", restarts > 0);
    world.sometimes("it has nobody for a letter", lost > 0);
}

// [G-POOL-4] [G-SUPERVISE-1] [G-DELIVERY-1]
#[test]
fn a_pool_that_fails_keeps_its_mail() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(SEEDS).allow_panics().run(|world| play(world, scheduler));
    }
}
