//! A simulated world whose choices are the bytes: what is sent, who is ended, and who runs when.

use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Ref, Scheduler, System, handlers};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Places for actors, each of which somebody takes again whose actor has been ended.
const PLACES: usize = 3;
/// How often something is begun from outside.
const DEEDS: usize = 40;
/// How often one message makes another one at most.
const HOPS_MAX: usize = 4;
/// More steps than such a world has.
const STEPS_MAX: u64 = 100_000;
/// More than an actor takes that is to drain, or to stop.
const LONG: Duration = Duration::from_secs(60);

/// What became of the messages.
#[derive(Default)]
struct Ledger {
    players: Vec<Ref<Player>>,
    sent: u64,
    returned: u64,
    handled: u64,
    /// What was sent last from each actor to each, and what has come.
    pairs: BTreeMap<(u64, u64), [u64; 2]>,
}

/// A ledger that all actors of a world have. There is one thread, so nobody waits for it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Ledger>>);

impl Shared {
    fn get(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message from an actor to the one in that place; some wait in the middle.
    fn send(&self, from: u64, place: usize, hops: usize, waits: bool) {
        let mut ledger = self.get();
        let player = ledger.players[place].clone();
        let to = player.id().number();
        let pair = ledger.pairs.entry((from, to)).or_default();
        pair[0] += 1;
        let number = pair[0];
        drop(ledger);
        let told = if waits {
            player.take_slowly(from, to, number, hops).tell().is_ok()
        } else {
            player.take(from, to, number, hops).tell().is_ok()
        };
        let mut ledger = self.get();
        let count = if told { &mut ledger.sent } else { &mut ledger.returned };
        *count += 1;
    }

    /// A message has come, behind those that were sent before it.
    fn receive(&self, from: u64, to: u64, number: u64) {
        let mut ledger = self.get();
        let pair = ledger.pairs.entry((from, to)).or_default();
        assert!(pair[1] < number, "{number} from {from} to {to} behind {}", pair[1]);
        pair[1] = number;
    }
}

#[derive(Actor)]
struct Player {
    ledger: Shared,
    /// While a handler is at work.
    is_busy: bool,
}

#[handlers]
impl Player {
    #[tell]
    fn take(&mut self, from: u64, to: u64, number: u64, hops: usize, cx: &mut Context<Self>) {
        assert!(!self.is_busy, "one handler at a time");
        self.ledger.receive(from, to, number);
        self.pass(to, hops, cx.random());
    }

    #[tell]
    async fn take_slowly(
        &mut self,
        from: u64,
        to: u64,
        number: u64,
        hops: usize,
        cx: &mut Context<Self>,
    ) {
        assert!(!std::mem::replace(&mut self.is_busy, true), "one handler at a time");
        self.ledger.receive(from, to, number);
        tokio::task::yield_now().await;
        self.pass(to, hops, cx.random());
        self.is_busy = false;
    }

    #[ask]
    fn double(&mut self, number: u64) -> u64 {
        assert!(!self.is_busy, "one handler at a time");
        2 * number
    }
}

impl Player {
    /// Ends the handling of a message, by sending another one if it is to hop on.
    fn pass(&self, me: u64, hops: usize, random: u64) {
        if hops > 0 {
            let place = random as usize % PLACES;
            self.ledger.send(me, place, hops - 1, random & 1 << 32 != 0);
        }
        self.ledger.get().handled += 1;
    }
}

async fn player(system: &System, ledger: &Shared) -> Ref<Player> {
    let player = Player { ledger: ledger.clone(), is_busy: false };
    system.spawn::<Player>(player).await.expect("the system runs")
}

/// What is sent is handled once and in order, or said not to be; every question has an answer, or is said to have
/// none; and nothing is left in the end.
fn play(world: &mut World) {
    let scheduler =
        [Scheduler::locked, Scheduler::lock_free, Scheduler::stealing, Scheduler::per_core]
            [world.pick(4)];
    let workers = world.range(1..4);
    let settings =
        move |builder: greenroom::Builder| builder.workers(workers).scheduler(scheduler());
    let node = world.node("fuzzed").settings(settings).start();
    let (system, ledger, clock) = (node.system(), Shared::default(), world.clock());
    world.run(async {
        for _ in 0..PLACES {
            let player = player(&system, &ledger).await;
            ledger.get().players.push(player);
        }
    });
    for deed in 1..=DEEDS as u64 {
        let (what, place) = (world.pick(10), world.pick(PLACES));
        let chosen = ledger.get().players[place].clone();
        match what {
            0..=2 => ledger.send(0, place, world.pick(HOPS_MAX + 1), what == 0),
            3 => world.run(async {
                let answer = chosen.double(deed).within(LONG).await;
                assert_eq!(answer, Ok(2 * deed), "nobody ends it meanwhile");
            }),
            4..=6 => {
                let is_ended = match what {
                    4 => chosen.kill(),
                    5 => chosen.stop(),
                    _ => chosen.drain(),
                };
                assert!(is_ended, "it had not ended");
                world.run(async {
                    let next = player(&system, &ledger).await;
                    ledger.get().players[place] = next;
                });
            }
            7 => world.run(tokio::task::yield_now()),
            8 => world.run(clock.sleep(Duration::from_micros(1))),
            _ => {}
        }
    }
    world.run(async { system.drain(LONG).await.expect("all of them end in time") });
    world.settle();
    let mut ledger = ledger.get();
    ledger.players.clear();
    let counts = system.counts();
    // What is killed in the middle of a handler has not handled the message.
    let unhandled = counts.dead_stopped + counts.dead_crashed;
    assert_eq!(ledger.sent, ledger.handled + unhandled, "sent and accounted for");
    assert_eq!(ledger.returned, counts.rejected_closed, "returned to their senders");
}

/// Schedules and ends of actors. [G-DELIVERY-1] [G-ORDER-1] [G-EXCLUSIVE-1]
pub fn world(bytes: &[u8]) {
    Explore::new().steps_max(STEPS_MAX).bytes(bytes).run(play);
}
