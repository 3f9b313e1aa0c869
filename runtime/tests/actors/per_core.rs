//! Actors that live on one worker each: where they run, that they can move, and that nothing is lost,
//! doubled or overtaken on the way. Promises: D1, O1 (see book/src/guarantees.md).

use crate::support::{Builds, LONG, on, run, soon};
use greenroom::{Actor, Context, Idle, MigrateError, Ref, Scheduler, SpawnError, System, handlers};
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Notes what it was sent by whom, and on which threads it ran.
#[derive(Actor)]
struct Sink {
    next: Vec<u64>,
    wrong: u64,
    threads: BTreeSet<String>,
}

#[handlers]
impl Sink {
    #[start]
    fn start(senders: usize) -> Self {
        Self { next: vec![0; senders], wrong: 0, threads: BTreeSet::new() }
    }

    #[tell]
    fn take(&mut self, sender: usize, number: u64) {
        self.note_thread();
        self.wrong += u64::from(self.next[sender] != number);
        self.next[sender] = number + 1;
    }

    #[ask]
    fn place(&mut self) -> String {
        self.note_thread();
        thread::current().name().unwrap_or_default().to_owned()
    }

    /// How many messages came, how many of them out of order, and where it ran.
    #[ask]
    fn seen(&self) -> (u64, u64, usize) {
        (self.next.iter().sum(), self.wrong, self.threads.len())
    }
}

impl Sink {
    fn note_thread(&mut self) {
        self.threads.insert(thread::current().name().unwrap_or_default().to_owned());
    }
}

/// Sends numbers to the sink, a few per turn.
#[derive(Actor)]
struct Source {
    sink: Ref<Sink>,
    number: usize,
    sent: u64,
}

#[handlers]
impl Source {
    #[start]
    fn start((sink, number): (Ref<Sink>, usize)) -> Self {
        Self { sink, number, sent: 0 }
    }

    #[tell]
    fn send(&mut self, left: u64, cx: &mut Context<Self>) {
        for _ in 0..left.min(7) {
            self.sink.take(self.number, self.sent).tell().expect("the sink lives");
            self.sent += 1;
        }
        if left > 7 {
            cx.me().send(left - 7).tell().expect("this actor lives");
        }
    }

    #[ask]
    fn sent(&self) -> u64 {
        self.sent
    }
}

#[test]
fn an_actor_lives_where_it_is_put() {
    on(3, Scheduler::per_core(), async |system| {
        for worker in 0..3 {
            let sink = system.spawn::<Sink>(0).on(worker).await.unwrap();
            for _ in 0..10 {
                assert_eq!(sink.place().await.unwrap(), format!("greenroom-{worker}"));
            }
        }
        let nowhere = system.spawn::<Sink>(0).on(3).start();
        let wrong = SpawnError::NoSuchWorker { worker: 3, workers: 3 };
        assert_eq!(nowhere.unwrap_err(), wrong, "the error names the worker");
    });
}

#[test]
fn an_actor_moves_where_it_is_told_to() {
    on(3, Scheduler::per_core(), async |system| {
        let sink = system.spawn::<Sink>(0).on(0).await.unwrap();
        for worker in [2, 1, 1, 0, 2] {
            sink.migrate(worker).unwrap();
            let place =
                async { while sink.place().await.unwrap() != format!("greenroom-{worker}") {} };
            soon(place).await;
        }
        let wrong = MigrateError::NoSuchWorker { worker: 9, workers: 3 };
        assert_eq!(sink.migrate(9), Err(wrong));
        sink.stop();
        soon(sink.ended()).await;
        assert_eq!(sink.migrate(1), Err(MigrateError::Ended));
    });
}

#[test]
fn where_nobody_has_a_home_nobody_moves() {
    on(2, Scheduler::stealing(), async |system| {
        let sink = system.spawn::<Sink>(0).on(1).await.unwrap();
        assert_eq!(sink.migrate(0), Err(MigrateError::NoHome));
    });
}

/// Sources on every worker and two threads from outside send to a sink that moves all the time, and
/// so do the sources.
#[test]
fn order_is_kept_while_everybody_moves() {
    const EACH: u64 = 3_000;
    for workers in [2, 4] {
        on(workers, Scheduler::per_core(), async |system| {
            let sink = system.spawn::<Sink>(workers + 2).on(0).await.unwrap();
            let mut sources = Vec::new();
            for number in 0..workers {
                let source = system.spawn::<Source>((sink.clone(), number)).on(number);
                sources.push(source.await.unwrap());
            }
            let threads: Vec<_> =
                (0..2).map(|index| from_outside(&sink, workers + index, EACH)).collect();
            for source in &sources {
                source.send(EACH).await.unwrap();
            }
            let mut turn = 0;
            sink.place().within(LONG).await.unwrap();
            while turn < 2 * workers || !all_sent(&sources, EACH).await {
                turn += 1;
                sink.migrate(turn % workers).unwrap();
                sink.place().within(LONG).await.unwrap();
                sources[turn % workers].migrate((turn / 2) % workers).unwrap();
            }
            for thread in threads {
                thread.join().unwrap();
            }
            let expected = EACH * (workers as u64 + 2);
            let seen = async {
                loop {
                    let (count, wrong, threads) = sink.seen().within(LONG).await.unwrap();
                    assert_eq!(wrong, 0, "nobody's messages overtake each other");
                    if count == expected {
                        return threads;
                    }
                }
            };
            assert!(soon(seen).await > 1, "the sink has moved");
        });
    }
}

fn from_outside(sink: &Ref<Sink>, sender: usize, count: u64) -> thread::JoinHandle<()> {
    let sink = sink.clone();
    thread::spawn(move || {
        for number in 0..count {
            sink.take(sender, number).tell().expect("the sink lives");
        }
    })
}

async fn all_sent(sources: &[Ref<Source>], each: u64) -> bool {
    for source in sources {
        if source.sent().within(LONG).await.expect("the source lives") < each {
            return false;
        }
    }
    true
}

/// Orders to drain wait for what is on its way; the mail of other actors behind them keeps its order.
#[test]
fn orders_to_drain_let_no_mail_overtake_other_mail() {
    const EACH: u64 = 10_000;
    const TIMES: usize = if cfg!(sanitized) { 4 } else { 20 };
    for _ in 0..TIMES {
        on(3, Scheduler::per_core(), async |system| {
            let sink = system.spawn::<Sink>(1).on(0).await.unwrap();
            let mut others = Vec::new();
            for _ in 0..1000 {
                others.push(system.spawn::<Sink>(0).on(0).await.unwrap());
            }
            let (entered, is_in) = oneshot::channel();
            let (release, released) = mpsc::channel::<()>();
            let holder = system.spawn::<Holder>(Holder).on(0).await.unwrap();
            holder.hold(entered, released).await.unwrap();
            soon(is_in).await.unwrap();
            assert!(others.iter().all(Ref::drain), "they live");
            sink.take(0, 0).await.unwrap();
            drop(release);
            // From here on the worker is taking in what was left for it.
            for number in 1..EACH {
                sink.take(0, number).await.unwrap();
            }
            let (came, wrong, _) = sink.seen().within(LONG).await.unwrap();
            assert_eq!((came, wrong), (EACH, 0), "all, in order");
        });
    }
}

/// Holds its worker in a handler, or lets a task of tokio send and hold it in between.
#[derive(Actor)]
struct Holder;

#[handlers]
impl Holder {
    #[tell]
    fn hold(&mut self, entered: oneshot::Sender<()>, released: mpsc::Receiver<()>) {
        let _ = entered.send(());
        let _ = released.recv();
    }

    #[tell]
    fn hold_beside(
        &mut self,
        sink: Ref<Sink>,
        entered: oneshot::Sender<()>,
        released: mpsc::Receiver<()>,
    ) {
        tokio::spawn(async move {
            // Until the worker sleeps but for this task.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let send = |number| sink.take(0, number).tell().expect("the sink lives");
            (0..3).for_each(send);
            let _ = entered.send(());
            let _ = released.recv();
            (3..6).for_each(send);
        });
    }

    #[ask]
    fn is_there(&self) -> bool {
        true
    }
}

/// A worker that runs a task of tokio has mail on its way, though it runs no actors.
#[test]
fn a_move_waits_for_what_tasks_of_tokio_have_sent() {
    for _ in 0..20 {
        on(3, Scheduler::per_core(), async |system| {
            let sink = system.spawn::<Sink>(1).on(0).await.unwrap();
            let mut holders = Vec::new();
            for worker in 0..3 {
                holders.push(system.spawn::<Holder>(Holder).on(worker).await.unwrap());
            }
            let (entered, is_in) = oneshot::channel();
            let (release, released) = mpsc::channel::<()>();
            holders[2].hold_beside(sink.clone(), entered, released).await.unwrap();
            soon(is_in).await.unwrap();
            sink.migrate(1).unwrap();
            // The first worker has begun the move when it has answered, and the second one has seen it.
            for holder in [0, 0, 1, 1] {
                assert!(holders[holder].is_there().within(LONG).await.unwrap());
            }
            drop(release);
            let came = async {
                loop {
                    let (came, wrong, _) = sink.seen().within(LONG).await.unwrap();
                    if came == 6 || wrong > 0 {
                        break (came, wrong);
                    }
                }
            };
            assert_eq!(soon(came).await, (6, 0), "all, in order");
        });
    }
}

/// More messages at once than a ring holds, to a worker that is busy meanwhile.
#[test]
fn a_full_ring_loses_nothing() {
    const COUNT: u64 = 5_000;
    on(2, Scheduler::per_core(), async |system| {
        let sinks: Vec<Ref<Sink>> = {
            let mut sinks = Vec::new();
            for _ in 0..3 {
                sinks.push(system.spawn::<Sink>(1).on(1).await.unwrap());
            }
            sinks
        };
        let burst = system.spawn::<Burst>(sinks.clone()).on(0).await.unwrap();
        burst.burst(COUNT).within(LONG).await.unwrap();
        for sink in sinks {
            let seen = async { while sink.seen().within(LONG).await.unwrap() != (COUNT, 0, 1) {} };
            soon(seen).await;
        }
    });
}

/// Sends to several sinks in turn, so that no message can join the one before.
#[derive(Actor)]
struct Burst {
    sinks: Vec<Ref<Sink>>,
}

#[handlers]
impl Burst {
    #[start]
    fn start(sinks: Vec<Ref<Sink>>) -> Self {
        Self { sinks }
    }

    #[ask]
    fn burst(&mut self, count: u64) {
        for number in 0..count {
            for sink in &self.sinks {
                sink.take(0, number).tell().expect("the sink lives");
            }
        }
    }
}

/// A busy worker hands ready actors to one that sleeps or spins; nobody is told to move.
#[test]
fn a_busy_worker_hands_actors_over() {
    // Who spins so long does not sleep while the test lasts.
    for idle in [Idle::Park, Idle::Spin(LONG * 1000)] {
        let system = System::builder().workers(2).slice(Duration::from_micros(20)).idle(idle);
        let system = system.scheduler(Scheduler::per_core()).own();
        run(async {
            soon(spread_out(&system)).await;
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// Has actors made that are always busy, and waits until both workers have some.
async fn spread_out(system: &System) {
    let mut workers = Vec::new();
    for _ in 0..8 {
        workers.push(system.spawn::<Busy>(()).await.expect("it starts"));
    }
    for worker in &workers {
        worker.work(u64::MAX).await.expect("it lives");
    }
    while places(&workers).await.len() < 2 {}
}

/// Where they are.
async fn places(workers: &[Ref<Busy>]) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for worker in workers {
        places.insert(worker.place().within(LONG).await.expect("it lives"));
    }
    places
}

/// Who is handed over waits for all workers, so nobody is while one of them is in a handler.
#[test]
fn who_could_be_handed_over_does_not_wait_for_who_does_not_listen() {
    on(3, Scheduler::per_core(), async |system| {
        let mut workers = Vec::new();
        for _ in 0..8 {
            let worker = system.spawn::<Busy>(()).await.unwrap();
            worker.migrate(0).unwrap();
            soon(async { while worker.place().await.unwrap() != "greenroom-0" {} }).await;
            workers.push(worker);
        }
        let deaf = system.spawn::<Talker>(()).on(2).await.unwrap();
        let (begins, begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        deaf.listens_to_nobody(begins, released).tell().unwrap();
        begun.recv_timeout(LONG).unwrap();
        for worker in &workers {
            worker.work(u64::MAX).await.unwrap();
        }
        for _ in 0..200 {
            assert_eq!(places(&workers).await.len(), 1);
        }
        release.send(()).unwrap();
        soon(async { while places(&workers).await.len() < 2 {} }).await;
    });
}

/// Works in short turns for ever.
#[derive(Actor)]
struct Busy;

#[handlers]
impl Busy {
    #[start]
    fn start() -> Self {
        Self
    }

    #[tell]
    fn work(&mut self, left: u64, cx: &mut Context<Self>) {
        let sum = (0..100_u64).fold(left, |sum, number| sum.wrapping_mul(31) ^ number);
        std::hint::black_box(sum);
        // An error means that it is to stop.
        let _ = cx.me().work(left - 1).tell();
    }

    #[ask]
    fn place(&self) -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }
}

/// An actor whose worker is woken again and again for little goes to live where its mail comes from, unless it is pinned.
#[test]
fn actors_that_talk_in_turns_are_brought_together() {
    // Less than a slice is little: this one is long enough for whatever slows the program down.
    let system = System::builder().workers(2).slice(Duration::from_millis(20));
    let system = system.scheduler(Scheduler::per_core()).own();
    run(async {
        let talker = system.spawn::<Talker>(()).on(0).await.unwrap();
        let guest = system.spawn::<Sink>(0).await.unwrap();
        guest.migrate(1).unwrap();
        soon(async { while talker.meets(guest.clone()).within(LONG).await.unwrap() {} }).await;
        soon(async { while !talker.meets(guest.clone()).within(LONG).await.unwrap() {} }).await;

        let pinned = system.spawn::<Sink>(0).on(1).await.unwrap();
        for _ in 0..1_000 {
            assert!(!talker.meets(pinned.clone()).within(LONG).await.unwrap());
        }
        system.shutdown(LONG).await.unwrap();
    });
}

/// What is done while the worker that it is done for is busy gains by a worker of its own.
#[test]
fn who_works_beside_a_busy_worker_stays_where_it_is() {
    on(2, Scheduler::per_core(), async |system| {
        let talker = system.spawn::<Talker>(()).on(0).await.unwrap();
        let helper = system.spawn::<Helper>(()).await.unwrap();
        helper.migrate(1).unwrap();
        // It leaves when both workers have answered, which one that is in a handler does not.
        soon(async { while helper.place().await.unwrap() != "greenroom-1" {} }).await;
        for _ in 0..1_000 {
            talker.is_helped(helper.clone()).within(LONG).await.unwrap();
        }
    });
}

/// One that moves waits for all workers, so none does while another one is in a handler.
#[test]
fn actors_that_talk_do_not_wait_for_who_does_not_listen() {
    on(3, Scheduler::per_core(), async |system| {
        let talker = system.spawn::<Talker>(()).on(0).await.unwrap();
        let guest = system.spawn::<Sink>(0).await.unwrap();
        guest.migrate(1).unwrap();
        soon(async { while talker.meets(guest.clone()).within(LONG).await.unwrap() {} }).await;
        let deaf = system.spawn::<Talker>(()).on(2).await.unwrap();
        let (begins, begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        deaf.listens_to_nobody(begins, released).tell().unwrap();
        begun.recv_timeout(LONG).unwrap();
        for _ in 0..100 {
            talker.meets(guest.clone()).within(LONG).await.unwrap();
        }
        release.send(()).unwrap();
    });
}

/// Does what it is told, and says where.
#[derive(Actor)]
struct Helper;

#[handlers]
impl Helper {
    #[start]
    fn start() -> Self {
        Self
    }

    #[tell]
    fn help(&mut self, place: mpsc::Sender<String>) {
        place.send(self.place()).expect("somebody waits for it");
    }

    #[ask]
    fn place(&self) -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }
}

/// Asks others where they are.
#[derive(Actor)]
struct Talker;

#[handlers]
impl Talker {
    #[start]
    fn start() -> Self {
        Self
    }

    /// Whether the other one was on this worker in ten questions in a row.
    #[ask]
    async fn meets(&mut self, other: Ref<Sink>) -> bool {
        let mut met = 0;
        for _ in 0..10 {
            let place = other.place().within(LONG).await.expect("the other one lives");
            met += u32::from(Some(place.as_str()) == thread::current().name());
        }
        met == 10
    }

    /// Is in its handler until it has been helped by another worker.
    #[ask]
    fn is_helped(&mut self, helper: Ref<Helper>) {
        let (place, helped) = mpsc::channel();
        helper.help(place).tell().expect("the helper lives");
        let place = helped.recv_timeout(LONG).expect("another worker helps");
        assert_ne!(Some(place.as_str()), thread::current().name());
    }

    #[tell]
    fn listens_to_nobody(&mut self, begins: mpsc::Sender<()>, until: mpsc::Receiver<()>) {
        begins.send(()).expect("the test waits");
        until.recv_timeout(LONG).expect("the test ends it");
    }
}

/// What is on its way when the system ends is given back, reported or dropped, and ends no thread.
#[test]
fn a_system_ends_while_mail_is_on_its_way() {
    for _ in 0..20 {
        let system = System::builder().workers(3).scheduler(Scheduler::per_core()).own();
        run(async {
            let sink = system.spawn::<Sink>(4).on(1).await.unwrap();
            let threads: Vec<_> = (0..2).map(|sender| until_closed(&sink, sender)).collect();
            for number in 0..2 {
                let source = system.spawn::<Source>((sink.clone(), 2 + number)).on(number * 2);
                source.await.unwrap().send(100).await.unwrap();
            }
            sink.migrate(2).unwrap();
            system.shutdown(LONG).await.unwrap();
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}

fn until_closed(sink: &Ref<Sink>, sender: usize) -> thread::JoinHandle<()> {
    let sink = sink.clone();
    thread::spawn(move || {
        let mut number = 0;
        while sink.take(sender, number).tell().is_ok() {
            number += 1;
        }
    })
}
