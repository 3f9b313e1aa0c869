//! Whatever moves, waits or overflows: the mail from one actor to another keeps its order.

use super::{Sink, Source};
use crate::support::{LONG, on, soon};
use greenroom::{Actor, Ref, Scheduler, handlers};
use std::sync::mpsc;
use std::thread;
use tokio::sync::oneshot;

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
