//! Actors that live on one worker each: where they run, that they can move, and that nothing is lost,
//! doubled or overtaken on the way. Promises: D1, O1 (see book/src/guarantees.md).

mod handing_over;
mod order;
mod talks;

use crate::support::{Builds, LONG, on, run, soon, until};
use greenroom::{Actor, Context, MigrateError, Ref, Scheduler, SpawnError, System, handlers};
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;

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

/// Says what it is sent.
#[derive(Actor)]
struct Echo {
    heard: mpsc::Sender<u64>,
}

#[handlers]
impl Echo {
    #[tell]
    fn take(&mut self, number: u64) {
        // An error says that nobody listens any more.
        let _ = self.heard.send(number);
    }
}

/// Sends many numbers in one turn, in which it waits until all but the last few are heard of; the last one that was.
#[derive(Actor)]
struct Caller;

#[handlers]
impl Caller {
    #[ask]
    fn call(&mut self, echo: Ref<Echo>, heard: mpsc::Receiver<u64>) -> u64 {
        for number in 0..1000 {
            echo.take(number).try_send().expect("it lives");
        }
        heard.iter().find(|&number| number >= 900).expect("it lives")
    }
}

#[test]
fn what_one_handler_sends_to_one_actor_is_seen_before_the_handler_ends() {
    on(2, Scheduler::per_core(), async |system| {
        let (hears, heard) = mpsc::channel();
        let echo = system.spawn::<Echo>(Echo { heard: hears }).on(1).await.expect("it starts");
        let caller = system.spawn::<Caller>(Caller).on(0).await.expect("it starts");
        assert_eq!(caller.call(echo, heard).within(LONG).await, Ok(900));
    });
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

/// Whatever ends it, and wherever it is at that moment.
#[test]
fn an_actor_that_is_moved_about_ends_once() {
    const ROUNDS: usize = if cfg!(sanitized) { 10 } else { 60 };
    for workers in [2, 4] {
        on(workers, Scheduler::per_core(), async |system| {
            for round in 0..ROUNDS {
                let sink = system.spawn::<Sink>(1).on(round % workers).await.unwrap();
                let threads = [moved_about(&sink, workers), until_closed(&sink, 0)];
                sink.place().within(LONG).await.unwrap();
                let ends = [Ref::<Sink>::stop, Ref::kill, Ref::drain][round % 3];
                assert!(ends(&sink), "it lives");
                soon(sink.ended()).await;
                assert_eq!(sink.migrate(0), Err(MigrateError::Ended));
                for thread in threads {
                    thread.join().unwrap();
                }
            }
            until(|| system.counts().ended == ROUNDS as u64).await;
            let counts = system.counts();
            assert_eq!(counts.started, ROUNDS as u64);
            assert_eq!(counts.panics, 0);
        });
    }
}

/// Orders it to each worker in turn, a few times.
fn moved_about(sink: &Ref<Sink>, workers: usize) -> thread::JoinHandle<()> {
    let sink = sink.clone();
    thread::spawn(move || {
        for turn in 0..200 {
            // An error says that it has ended.
            let _ = sink.migrate(turn % workers);
        }
    })
}

/// However few cores they have.
#[test]
fn actors_move_among_as_many_workers_as_there_can_be() {
    const WORKERS: usize = 62;
    on(WORKERS, Scheduler::per_core(), async |system| {
        let mut sinks = Vec::new();
        for worker in 0..WORKERS {
            sinks.push(system.spawn::<Sink>(0).on(worker).await.unwrap());
        }
        for (worker, sink) in sinks.iter().enumerate() {
            let next = (worker + 1) % WORKERS;
            sink.migrate(next).unwrap();
            let place =
                async { while sink.place().await.unwrap() != format!("greenroom-{next}") {} };
            soon(place).await;
        }
    });
}
