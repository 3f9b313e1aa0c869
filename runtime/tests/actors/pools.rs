//! Pools: called like one worker, with nothing lost while they grow, shrink and end.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{Dice, LONG, SHARING, everywhere, exit_of, hold_worker, on, soon, until};
use greenroom::{
    Actor, AskError, Context, ExitReason, Group, Pool, Ref, Resize, Routing, Scheduler, SpawnError,
    System, Workers, handlers,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// What was handled: by which worker, and which number.
type Log = Arc<Mutex<Vec<(u64, u64)>>>;

#[derive(Actor)]
#[actor(restart = transient(100 in "1h"))]
struct Clerk {
    me: u64,
    log: Log,
}

#[handlers(api = ClerkApi)]
impl Clerk {
    #[start]
    fn start(log: Log, cx: &mut Context<Self>) -> Self {
        Self { me: cx.id().number(), log }
    }
    #[tell]
    fn file(&mut self, number: u64) {
        self.log.lock().push((self.me, number));
    }
    #[ask]
    fn who(&self) -> u64 {
        self.me
    }
    /// Answers when it is let.
    #[ask]
    async fn wait(&mut self, gate: Arc<Semaphore>) -> u64 {
        gate.acquire().await.unwrap().forget();
        self.me
    }
    #[ask]
    fn refuse(&self) -> Result<u64, &'static str> {
        Err("closed on Mondays")
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
    #[tell]
    fn go_home(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

async fn pool(
    system: &System,
    count: usize,
    routing: Routing<Clerk>,
) -> (Ref<Pool<Clerk>>, Log, Group<Clerk>) {
    let (log, group) = (Log::default(), Group::new());
    let own = Arc::clone(&log);
    let workers = Pool::of(count, move || Arc::clone(&own)).routing(routing).group(&group);
    (system.spawn::<Pool<Clerk>>(workers).await.unwrap(), log, group)
}

/// How many messages each worker handled.
fn shares(log: &Log) -> BTreeMap<u64, usize> {
    let mut shares = BTreeMap::new();
    for (worker, _) in log.lock().iter() {
        *shares.entry(*worker).or_default() += 1;
    }
    shares
}

fn filed(log: &Log) -> Vec<u64> {
    let mut numbers: Vec<_> = log.lock().iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    numbers
}

// [G-POOL-1]
#[test]
fn round_robin_takes_turns() {
    everywhere(async |system| {
        let (pool, log, _group) = pool(system, 4, Routing::round_robin()).await;
        for number in 0..40 {
            pool.file(number).await.unwrap();
        }
        until(|| log.lock().len() == 40).await;
        let shares = shares(&log);
        assert_eq!(shares.values().copied().collect::<Vec<_>>(), [10; 4]);
        // As a reference to any actor of that protocol.
        let api: Ref<ClerkApi> = pool.api();
        assert!(shares.contains_key(&api.who().await.unwrap()));
        assert!(matches!(pool.refuse().await, Err(AskError::Failed("closed on Mondays"))));
    });
}

#[test]
fn random_choices_are_those_of_their_seed() {
    on(2, Scheduler::stealing(), async |system| {
        let mut runs = Vec::new();
        for seed in [7, 7, 8] {
            let (pool, _log, group) = pool(system, 5, Routing::random(seed)).await;
            let order: Vec<_> = group.members().iter().map(|member| member.id().number()).collect();
            let mut places = Vec::new();
            for _ in 0..100 {
                let who = pool.who().await.unwrap();
                places.push(order.iter().position(|id| *id == who).unwrap());
            }
            assert!((0..5).all(|place| places.iter().filter(|it| **it == place).count() > 5));
            runs.push(places);
        }
        assert_eq!(runs[0], runs[1]);
        assert_ne!(runs[0], runs[2]);
    });
}

// [G-POOL-1]
#[test]
fn least_loaded_passes_over_the_busy() {
    for scheduler in SHARING {
        for workers in [1, 2, 4] {
            on(workers, scheduler(), least_loaded);
        }
    }
    // Between workers with rings, what this thread sends may overtake what the pool has handed on.
    on(1, Scheduler::per_core(), least_loaded);
}

/// Waits until the pool of three has handed on what it was sent, and the workers have none of it before them.
async fn settled(pool: &Ref<Pool<Clerk>>, workers: &[Ref<Clerk>]) {
    // What the pool answers comes after what it handed on before, with the marker behind it.
    pool.ask(Resize(3)).await.unwrap().unwrap();
    // Their mail is in order.
    for worker in workers {
        worker.who().await.unwrap();
    }
}

async fn least_loaded(system: &System) {
    let (pool, log, group) = pool(system, 3, Routing::least_loaded()).await;
    let gate = Arc::new(Semaphore::new(0));
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut ask = pool.wait(Arc::clone(&gate)).within(LONG).into_future();
        let _ = crate::support::poll_once(&mut ask);
        busy.push(ask);
    }
    // Two wait; whoever is idle gets all the others, one at a time.
    let idle = pool.who().await.unwrap();
    let members = group.members();
    let own = members.iter().find(|member| member.id().number() == idle).unwrap();
    for number in 0..20 {
        settled(&pool, std::slice::from_ref(own)).await;
        pool.file(number).await.unwrap();
    }
    settled(&pool, std::slice::from_ref(own)).await;
    assert_eq!(shares(&log), BTreeMap::from([(idle, 20)]));
    gate.add_permits(2);
    for ask in busy {
        assert_ne!(soon(ask).await, Ok(idle));
    }
    // A worker that fell has what it had taken off its account.
    for _ in 0..9 {
        pool.fall().await.unwrap();
    }
    until(|| system.counts().restarts == 9).await;
    // So all have as much before them, none, and take turns.
    let mut seen = Vec::new();
    for _ in 0..3 {
        settled(&pool, &members).await;
        seen.push(pool.who().await.unwrap());
    }
    assert!(members.iter().all(|member| seen.contains(&member.id().number())), "{seen:?}");
}

// [G-POOL-2]
#[test]
fn keys_stay_where_they_are_while_the_pool_grows() {
    everywhere(async |system| {
        let key = |message: &ClerkApiMessage| match message {
            ClerkApiMessage::File { number } => number % 50,
            _ => 0,
        };
        let (pool, log, group) = pool(system, 3, Routing::consistent_hash(key)).await;
        let (mut homes, mut workers) = (Vec::new(), Vec::new());
        for count in [3, 4, 6, 4, 3] {
            pool.ask(Resize(count)).await.unwrap().unwrap();
            for number in 0..200 {
                pool.file(number).await.unwrap();
            }
            until(|| log.lock().len() == 200).await;
            let mut home = BTreeMap::new();
            for (worker, number) in log.lock().drain(..) {
                let before = home.insert(number % 50, worker);
                assert!(before.is_none_or(|before| before == worker), "one key, one worker");
            }
            homes.push(home);
            workers.push(group.members().iter().map(|it| it.id().number()).collect::<Vec<_>>());
        }
        for step in 1..homes.len() {
            for (key, old) in &homes[step - 1] {
                let new = homes[step][key];
                let may_move = !workers[step - 1].contains(&new) || !workers[step].contains(old);
                assert!(new == *old || may_move, "{key} moved from {old} to {new}, both stay");
            }
        }
        assert_eq!(homes[0], homes[4], "the first three are the same");
        assert_eq!(homes[1], homes[3]);
        let moved = |from: usize, to: usize| {
            homes[from].iter().filter(|(key, worker)| homes[to][key] != **worker).count()
        };
        assert!((1..=25).contains(&moved(0, 1)), "{} of 50", moved(0, 1));
    });
}

// [G-POOL-3]
#[test]
fn nothing_is_lost_while_the_size_changes() {
    everywhere(async |system| {
        let (pool, log, group) = pool(system, 1, Routing::round_robin()).await;
        let mut dice = Dice::new(3);
        let mut size = 1;
        for number in 0..1000 {
            pool.file(number).tell().unwrap();
            if number % 20 == 0 {
                let next = usize::try_from(dice.below(6)).unwrap();
                assert_eq!(pool.ask(Resize(next)).await.unwrap(), Ok(size));
                size = next.max(1);
                assert_eq!(group.members().len(), size);
            }
        }
        until(|| log.lock().len() == 1000).await;
        assert_eq!(filed(&log), (0..1000).collect::<Vec<_>>());
        assert_eq!(system.counts().dead_stopped, 0);
    });
}

#[test]
fn a_pool_that_is_too_large_is_refused_and_stays_as_it_is() {
    everywhere(async |system| {
        let (pool, log, group) = pool(system, 2, Routing::round_robin()).await;
        for count in [65_537, usize::MAX] {
            let refused = Err(SpawnError::PoolTooLarge { count, max: 65_536 });
            assert_eq!(pool.ask(Resize(count)).await.unwrap(), refused);
        }
        assert_eq!(group.members().len(), 2);
        pool.file(1).tell().unwrap();
        until(|| filed(&log) == [1]).await;
    });
}

// [G-POOL-3]
#[test]
fn a_drained_pool_handles_all_it_has_accepted() {
    everywhere(async |system| {
        let (pool, log, _group) = pool(system, 3, Routing::least_loaded()).await;
        for number in 0..300 {
            pool.file(number).tell().unwrap();
        }
        pool.drain();
        soon(pool.ended()).await;
        assert_eq!(filed(&log), (0..300).collect::<Vec<_>>());
        assert_eq!(system.counts().dead_stopped, 0);
    });
}

#[test]
fn it_goes_on_with_the_workers_that_are_left() {
    everywhere(async |system| {
        let mut events = system.events();
        let (pool, log, group) = pool(system, 3, Routing::round_robin()).await;
        for left in [2, 1] {
            pool.go_home().await.unwrap();
            until(|| group.members().len() == left).await;
            for number in 0..10 {
                pool.file(number).await.unwrap();
            }
        }
        until(|| log.lock().len() == 20).await;
        pool.go_home().await.unwrap();
        assert_eq!(exit_of(&pool, &mut events).await, ExitReason::Stopped);
        assert!(pool.who().await.is_err());
    });
}

/// Has a pool of clerks, which it starts again when the pool has failed.
#[derive(Actor)]
#[actor(supervise = one_for_one(2 in "1h"))]
struct Office {
    pool: Ref<Pool<Fragile>>,
}

#[handlers]
impl Office {
    #[start]
    async fn start(
        workers: Workers<Fragile>,
        cx: &mut Context<Self>,
    ) -> Result<Self, greenroom::StartError> {
        let pool = cx.supervise::<Pool<Fragile>>(workers).named("clerks").await?;
        Ok(Self { pool })
    }
    #[ask]
    fn pool(&self) -> Ref<Pool<Fragile>> {
        self.pool.clone()
    }
}

/// Is not restarted by itself.
#[derive(Actor)]
struct Fragile {
    number: u64,
}

#[handlers]
impl Fragile {
    #[start]
    fn start(number: u64) -> Self {
        Self { number }
    }
    #[ask]
    fn number(&self) -> u64 {
        self.number
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
}

// [G-POOL-4]
#[test]
fn a_pool_that_fails_is_started_again_with_all_its_workers() {
    everywhere(async |system| {
        let (mut next, group) = (0, Group::new());
        let numbers = move || {
            next += 1;
            next
        };
        let workers = Pool::of(3, numbers).group(&group);
        let mut events = system.events();
        let office = system.spawn::<Office>(workers).await.unwrap();
        let pool = office.pool().await.unwrap();
        for round in 1..=2 {
            let (first, last) = (3 * round - 2, 3 * round);
            until(|| group.members().len() == 3).await;
            for number in first..=last {
                assert_eq!(pool.number().within(LONG).await, Ok(number), "one after the other");
            }
            assert_eq!(group.broadcast(|fragile| fragile.fall()).told, 3);
            until(|| system.counts().restarts == round).await;
        }
        // Under the same name, with the same reference.
        until(|| group.members().len() == 3).await;
        assert_eq!(pool.number().within(LONG).await, Ok(7));
        assert_eq!(system.find::<Pool<Fragile>>("clerks").unwrap().id(), pool.id());
        // Once more is more than is allowed.
        assert_eq!(group.broadcast(|fragile| fragile.fall()).told, 3);
        let reason = exit_of(&office, &mut events).await;
        assert!(matches!(reason, ExitReason::TooManyRestarts { .. }), "{reason:?}");
        assert_eq!(group.members().len(), 0);
    });
}

/// Has room for one message.
#[derive(Actor)]
#[actor(mailbox = bounded(1, full = reject))]
struct Narrow;

#[handlers]
impl Narrow {
    #[start]
    fn start() -> Self {
        Self
    }
    #[tell]
    fn pass(&mut self, done: oneshot::Sender<()>) {
        let _ = done.send(());
    }
}

// [G-BOUND-1]
#[test]
fn the_workers_bound_is_the_pools() {
    on(1, Scheduler::locked(), async |system| {
        let pool = system.spawn::<Pool<Narrow>>(Pool::of(2, || ())).await.unwrap();
        let hold = hold_worker(system).await;
        let (done, is_done) = oneshot::channel();
        pool.pass(done).tell().unwrap();
        let (second, _) = oneshot::channel();
        assert!(pool.pass(second).tell().is_err(), "one is the bound");
        drop(hold);
        soon(is_done).await.unwrap();
        for _ in 0..20 {
            let (done, is_done) = oneshot::channel();
            pool.pass(done).await.unwrap();
            soon(is_done).await.unwrap();
        }
    });
}

// [G-GROUP-2]
#[test]
fn a_broadcast_tells_those_with_room_and_counts_the_full() {
    on(1, Scheduler::locked(), async |system| {
        let group = Group::new();
        let workers = Pool::of(3, || ()).group(&group);
        let _pool = system.spawn::<Pool<Narrow>>(workers).await.unwrap();
        let hold = hold_worker(system).await;
        let before = system.counts().rejected_full;
        let (first, is_first) = oneshot::channel();
        group.members()[1].pass(first).tell().unwrap();
        let waiting = Mutex::new(Vec::new());
        let broadcast = || {
            let told = group.broadcast(|narrow| {
                let (done, is_done) = oneshot::channel();
                waiting.lock().push(is_done);
                narrow.pass(done)
            });
            (told.told, told.full)
        };
        assert_eq!(broadcast(), (2, 1), "one has a message before it");
        assert_eq!(broadcast(), (0, 3));
        assert_eq!(system.counts().rejected_full - before, 4);
        drop(hold);
        soon(is_first).await.unwrap();
        let mut handled = Vec::new();
        for is_done in waiting.into_inner() {
            handled.push(soon(is_done).await.is_ok());
        }
        assert_eq!(handled, [true, false, true, false, false, false]);
    });
}

// [G-GROUP-2]
#[test]
fn a_group_is_told_at_once_and_the_first_answer_taken() {
    everywhere(async |system| {
        let (_pool, log, group) = pool(system, 3, Routing::round_robin()).await;
        assert_eq!(group.broadcast(|clerk| clerk.file(7)).told, 3);
        until(|| log.lock().len() == 3).await;
        assert_eq!(shares(&log).len(), 3);

        // One may answer; the others get their turn when it has.
        let gate = Arc::new(Semaphore::new(1));
        let first = group.first(|clerk| clerk.wait(Arc::clone(&gate)).within(LONG)).await.unwrap();
        assert!(group.members().iter().any(|clerk| clerk.id().number() == first));
        gate.add_permits(2);
        until(|| system.counts().late_replies == 2).await;

        let refused = group.first(|clerk| clerk.refuse()).await;
        assert_eq!(refused, Err(AskError::Failed("closed on Mondays")));
        let nobody = Group::<Clerk>::new();
        assert_eq!(nobody.first(|clerk| clerk.who()).await, Err(AskError::Closed));
        let late =
            group.first(|clerk| clerk.wait(Arc::clone(&gate)).within(Duration::from_millis(5)));
        assert_eq!(soon(late).await, Err(AskError::Expired));
        gate.add_permits(3);
        // Some may not even have begun in time.
        let counts = || system.counts();
        until(|| counts().late_replies + counts().dead_expired == 5).await;
    });
}

#[test]
#[should_panic(expected = "at least one worker")]
fn a_pool_of_nobody_is_a_mistake() {
    let _ = Pool::<Narrow>::of(0, || ());
}

#[test]
fn a_pool_whose_workers_cannot_start_does_not_start() {
    /// Never starts.
    #[derive(Actor)]
    struct Cold;

    #[handlers]
    impl Cold {
        #[start]
        fn start() -> Result<Self, greenroom::StartError> {
            Err(greenroom::StartError::new("too cold"))
        }
    }
    on(1, Scheduler::per_core(), async |system| {
        let failed = system.spawn::<Pool<Cold>>(Pool::of(2, || ())).await;
        assert!(matches!(failed, Err(SpawnError::StartFailed(_))), "{failed:?}");
    });
}
