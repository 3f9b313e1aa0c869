//! Actors that end when they have told a slow one of another node much, in simulated worlds: whatever the seed, that one hears
//! of each end behind all that was said before, and everybody else does not wait for it.

use super::{connect, pair};
use greenroom::net::{Export, Loopback, Node, NodeId, Peer};
use greenroom::sim::{World, WorldClock};
use greenroom::{Actor, ActorId, Context, Down, ExitReason, Ref, Scheduler, handlers};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

const SPEAKERS: u32 = 6;
/// Messages of one of them at most: of all of them, more than there is credit for, and more than a proxy holds.
const SAID_MAX: usize = 150;
/// As long as everything takes that happens by itself.
const SOON: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Told { speaker: u32, number: u64 },
    Down { speaker: u32, reason: ExitReason },
}

/// Hears one message for each permit, and watches whom it is told to.
#[derive(Actor)]
#[actor(mailbox = bounded(3))]
struct Listener {
    gate: Arc<Semaphore>,
    seen: Arc<Mutex<Vec<Seen>>>,
    watched: Vec<(ActorId, u32)>,
}

#[handlers(wire = "test.listener/2")]
impl Listener {
    #[tell]
    async fn hear(&mut self, speaker: u32, number: u64) {
        self.gate.acquire().await.unwrap().forget();
        self.seen.lock().push(Seen::Told { speaker, number });
    }
    #[down]
    fn down(&mut self, down: Down) {
        let (_, speaker) = *self.watched.iter().find(|(id, _)| *id == down.actor).unwrap();
        self.seen.lock().push(Seen::Down { speaker, reason: down.reason });
    }
}

#[derive(greenroom::Message)]
struct Watch(u32, Ref<Speaker>);

impl greenroom::Handle<Watch> for Listener {
    fn handle(&mut self, Watch(number, speaker): Watch, cx: &mut Context<Self>) {
        self.watched.push((speaker.id(), number));
        cx.watch(&speaker, Self::down);
    }
}

/// Tells the listener numbers, and ends.
#[derive(Actor)]
struct Speaker {
    number: u32,
    to: Ref<Listener>,
}

#[handlers(wire = "test.speaker/3")]
impl Speaker {
    #[tell]
    async fn speak(&mut self, count: u64, cx: &mut Context<Self>) {
        for number in 0..count {
            self.to.hear(self.number, number).await.unwrap();
        }
        cx.stop();
    }
}

struct Ear {
    actor: Ref<Listener>,
    gate: Arc<Semaphore>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Ear {
    async fn new(system: &greenroom::System) -> Self {
        let (gate, seen) = (Arc::new(Semaphore::new(0)), Arc::default());
        let args =
            Listener { gate: Arc::clone(&gate), seen: Arc::clone(&seen), watched: Vec::new() };
        Self { actor: system.spawn::<Listener>(args).await.unwrap(), gate, seen }
    }

    /// Connects the node of the listener with another one; how that reaches it, too.
    async fn reach(&self, near: &Node, far: &Node, clock: &WorldClock) -> (Peer, Ref<Listener>) {
        near.export("listener", Export::of(&self.actor)).unwrap();
        let peer = connect(near).await;
        clock.sleep(SOON).await;
        let back = far.peer(NodeId(1)).unwrap();
        (peer, back.find::<Listener>("listener").await.unwrap())
    }

    /// How the other node reaches it, too, once that has a connection.
    async fn lies_beside(&self, near: &Node, far: &Node) -> Ref<Listener> {
        near.export("beside", Export::of(&self.actor)).unwrap();
        far.peer(NodeId(1)).unwrap().find::<Listener>("beside").await.unwrap()
    }

    fn has_heard_of(&self, speaker: u32) -> bool {
        let stopped = Seen::Down { speaker, reason: ExitReason::Stopped };
        self.seen.lock().contains(&stopped)
    }
}

/// What the listener saw, how much each speaker told, and how often one had ended while the listener was still to hear of it.
struct Outcome {
    seen: Vec<Seen>,
    said: Vec<u64>,
    held: usize,
    trace: u64,
}

fn history(seed: u64) -> Outcome {
    let mut world = World::new(seed);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    let network = Loopback::new().frames_max(1 + world.pick(20));
    let counts: Vec<_> = (0..SPEAKERS).map(|_| world.pick(SAID_MAX) as u64).collect();
    let late: Vec<_> = (0..SPEAKERS).map(|_| world.chance(200)).collect();
    let steps: Vec<_> = (0..SPEAKERS).map(|_| (world.pick(80), world.pick(3000) as u64)).collect();
    let said = counts.clone();
    let (seen, held) = world.run(async {
        let [near, far] = pair(&here, &there, &network);
        // To the first one nothing is ever told: no end waits for it.
        let silent = Ear::new(&here.system()).await;
        let (ear, other) = (Ear::new(&here.system()).await, Ear::new(&here.system()).await);
        let (peer, to) = ear.reach(&near, &far, &clock).await;
        let _silent = silent.lies_beside(&near, &far).await;
        let mut speakers = Vec::new();
        for number in 0..SPEAKERS {
            let speaker = Speaker { number, to: to.clone() };
            let speaker = there.system().spawn::<Speaker>(speaker).await.unwrap();
            let name = format!("speaker-{number}");
            far.export(&name, Export::of(&speaker)).unwrap();
            let found = peer.find::<Speaker>(&name).await.unwrap();
            other.actor.tell(Watch(number, found.clone())).await.unwrap();
            if !late[number as usize] {
                ear.actor.tell(Watch(number, found.clone())).await.unwrap();
            }
            speakers.push((speaker, found));
        }
        clock.sleep(SOON).await;
        let mut held = 0;
        for (number, (permits, pause_ms)) in (0..SPEAKERS).zip(steps) {
            let index = number as usize;
            speakers[index].1.speak(counts[index]).await.unwrap();
            ear.gate.add_permits(permits);
            clock.sleep(Duration::from_millis(pause_ms)).await;
            if late[index] {
                let (to, watch) = (ear.actor.clone(), Watch(number, speakers[index].1.clone()));
                tokio::spawn(async move { to.tell(watch).await.unwrap() });
            }
            let ended: Vec<_> =
                (0..=number).filter(|number| speakers[*number as usize].0.is_closed()).collect();
            clock.sleep(SOON).await;
            for number in ended {
                // [G-REMOTE-6]: however little the listener hears.
                assert!(other.has_heard_of(number), "seed {seed}: of {number}");
                assert!(speakers[number as usize].1.is_closed(), "seed {seed}: {number}");
                held += usize::from(!late[number as usize] && !ear.has_heard_of(number));
            }
        }
        ear.gate.add_permits(SPEAKERS as usize * SAID_MAX);
        clock.sleep(10 * SOON).await;
        let seen = ear.seen.lock().clone();
        (seen, held)
    });
    Outcome { seen, said, held, trace: world.trace_hash() }
}

/// Workers of a node on which the speakers of a crowd live.
const WORKERS: usize = 3;

/// A history in which all speakers end at about the same time, each on a worker of its own or with others, where workers
/// share nothing.
fn crowd(seed: u64) -> Outcome {
    let mut world = World::new(seed);
    let settings =
        |system: greenroom::Builder| system.workers(WORKERS).scheduler(Scheduler::per_core());
    let here = world.node("here").start();
    let there = world.node("there").settings(settings).start();
    let clock = world.clock();
    let network = Loopback::new().frames_max(1 + world.pick(20));
    let counts: Vec<_> = (0..SPEAKERS).map(|_| world.pick(SAID_MAX) as u64).collect();
    let places: Vec<_> = (0..SPEAKERS).map(|_| world.pick(WORKERS)).collect();
    // Where the listener hears much, none waits for its credit.
    let permits = world.pick(2 * SAID_MAX);
    let said = counts.clone();
    let (seen, held) = world.run(async {
        let [near, far] = pair(&here, &there, &network);
        // As in the other history.
        let silent = Ear::new(&here.system()).await;
        let ear = Ear::new(&here.system()).await;
        let (peer, to) = ear.reach(&near, &far, &clock).await;
        let _silent = silent.lies_beside(&near, &far).await;
        let mut speakers = Vec::new();
        for (number, place) in (0..SPEAKERS).zip(places) {
            let speaker = Speaker { number, to: to.clone() };
            let speaker = there.system().spawn::<Speaker>(speaker).on(place).await.unwrap();
            let name = format!("speaker-{number}");
            far.export(&name, Export::of(&speaker)).unwrap();
            let found = peer.find::<Speaker>(&name).await.unwrap();
            ear.actor.tell(Watch(number, found)).await.unwrap();
            speakers.push(speaker);
        }
        clock.sleep(SOON).await;
        for (speaker, count) in speakers.iter().zip(counts) {
            speaker.speak(count).await.unwrap();
        }
        ear.gate.add_permits(permits);
        clock.sleep(SOON).await;
        let held = (0..SPEAKERS).filter(|number| !ear.has_heard_of(*number)).count();
        ear.gate.add_permits(SPEAKERS as usize * SAID_MAX);
        clock.sleep(10 * SOON).await;
        let seen = ear.seen.lock().clone();
        (seen, held)
    });
    Outcome { seen, said, held, trace: world.trace_hash() }
}

/// Checks a history; returns how often an end was told while the listener was held.
fn check(seed: u64, history: fn(u64) -> Outcome) -> usize {
    let Outcome { seen, said, held, .. } = history(seed);
    for (speaker, count) in (0..SPEAKERS).zip(said) {
        let numbers = |seen: &[Seen]| {
            let told = seen.iter().filter_map(|seen| match seen {
                Seen::Told { speaker: one, number } if *one == speaker => Some(*number),
                _ => None,
            });
            told.collect::<Vec<_>>()
        };
        let downs: Vec<_> = (0..)
            .zip(&seen)
            .filter_map(|(at, seen)| match seen {
                Seen::Down { speaker: one, reason } if *one == speaker => Some((at, reason)),
                _ => None,
            })
            .collect();
        // [G-REMOTE-5]: one for each watch, and behind all that came before it, but where the watch came late.
        let [(at, reason)] = downs[..] else { panic!("seed {seed}: {speaker}: {downs:?}") };
        let before = if *reason == ExitReason::NoActor { seen.len() } else { at };
        let all: Vec<_> = (0..count).collect();
        // [G-REMOTE-1] [G-REMOTE-2] [G-REMOTE-3]
        assert_eq!(numbers(&seen), all, "seed {seed}: {speaker}");
        assert_eq!(numbers(&seen[..before]), all, "seed {seed}: {speaker}");
    }
    held
}

fn seeds() -> u64 {
    let seeds = std::env::var("GREENROOM_NET_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    seeds.unwrap_or(if cfg!(sanitized) { 20 } else { 100 })
}

// [G-REMOTE-5] [G-REMOTE-6] [ENV-25]
#[test]
fn ends_wait_for_the_mail_of_who_is_held_and_for_nobody_elses() {
    let held: usize = (0..seeds()).map(|seed| check(seed, history)).sum();
    assert!(held as u64 >= seeds(), "{held} in {} histories", seeds());
}

// [G-REMOTE-5] [ENV-12] [ENV-25]
#[test]
fn an_end_waits_for_mail_that_is_on_its_way_between_workers() {
    let held: usize = (0..seeds()).map(|seed| check(seed, crowd)).sum();
    assert!(held > 0);
}

#[test]
fn a_seed_repeats_its_history() {
    for seed in [3, 4] {
        let (one, other) = (history(seed), history(seed));
        assert_eq!((one.trace, one.seen), (other.trace, other.seen), "seed {seed}");
    }
}
