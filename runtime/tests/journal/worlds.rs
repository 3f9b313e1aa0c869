//! Event-sourced actors in simulated worlds: a node that crashes at any step, and starts again, has exactly the
//! events that were acknowledged, and perhaps one that was on its way, and never a gap.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.

use super::ledger::{Ledger, Noted, Opened, numbers};
use greenroom::Ref;
use greenroom::journal::{Journal, Memory};
use greenroom::sim::{Explore, Node, World, WorldClock};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

const SEEDS: u64 = if cfg!(sanitized) { 25 } else { 100 };
/// Seeds under which the node crashes at each step in turn.
const THOROUGH: u64 = if cfg!(sanitized) { 1 } else { 2 };
const KEYS: usize = 3;
/// Numbers that each client wants noted.
const NOTES: u64 = 6;
/// Crashes of one run.
const CRASHES: usize = 4;
const MS: Duration = Duration::from_millis(1);
/// Who has no answer by then asks again.
const PATIENCE: Duration = Duration::from_millis(50);
/// Longer than all of it takes.
const LONG: Duration = Duration::from_secs(60);

fn name(key: usize) -> String {
    format!("ledger-{key}")
}

/// What a life of the node begins with: a journal over the disk, which outlives it, and the actors, as in a program.
async fn serve(node: Node, disk: Memory) {
    let (journal, writer) = Journal::without_thread(disk);
    node.spawn(writer);
    for key in 0..KEYS {
        // Some take snapshots, and some of those prune.
        let every = (key > 0).then_some(2);
        let opened = Opened { every, prune: key > 1, ..Opened::new(&journal, &name(key)) };
        node.system().spawn::<Ledger>(opened).named(name(key)).await.expect("it recovers");
    }
}

/// What a client has found out, for all the world to see.
#[derive(Default)]
struct Told {
    /// Numbers that were acknowledged.
    acknowledged: Cell<u64>,
    /// Whether a number was there, or was not, of which a crash had hidden what became.
    kept: Cell<bool>,
    lost: Cell<bool>,
}

struct Client {
    key: usize,
    node: Node,
    clock: WorldClock,
    told: Rc<Told>,
}

impl Client {
    /// The output of `answer`, unless the node has crashed or is late.
    async fn patiently<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            answer = answer => Some(answer),
            () = self.clock.sleep(PATIENCE) => None,
        }
    }

    /// The ledger of the node's present life, as soon as it is there.
    async fn ledger(&self) -> Ref<Ledger> {
        loop {
            let system = self.node.try_system();
            if let Some(ledger) = system.and_then(|system| system.find(&name(self.key)).ok()) {
                return ledger;
            }
            self.clock.sleep(MS).await;
        }
    }

    /// How many numbers there are: all that were acknowledged, in order, and perhaps the next one.
    async fn count(&self) -> u64 {
        let there = loop {
            let ledger = self.ledger().await;
            if let Some(Ok(there)) = self.patiently(async { ledger.notes().await }).await {
                break there;
            }
        };
        let count = there.len() as u64;
        assert_eq!(there, numbers(1..=count), "each once, in order, without a gap");
        let acknowledged = self.told.acknowledged.get();
        assert!(
            (acknowledged..=acknowledged + 1).contains(&count),
            "{acknowledged} acknowledged, {count} there"
        );
        count
    }

    /// Has the numbers noted, one after the other. What became of the one that a crash has hidden, the ledger
    /// knows.
    async fn run(self) {
        let mut next = 1;
        while next <= NOTES {
            let ledger = self.ledger().await;
            let noted = self.patiently(async { ledger.note(Noted::Number(next)).await });
            match noted.await {
                Some(noted) => assert_eq!(noted, Ok(next), "its event has that sequence"),
                None => {
                    let is_there = self.count().await == next;
                    (if is_there { &self.told.kept } else { &self.told.lost }).set(true);
                    if !is_there {
                        continue;
                    }
                }
            }
            self.told.acknowledged.set(next);
            next += 1;
        }
    }
}

struct Scene {
    node: Node,
    clients: Vec<Rc<Told>>,
}

/// A node, and clients outside of it. At each of the steps the node crashes; an even one has it start again at once,
/// another one a while later.
fn scene(world: &mut World, mut crashes: Vec<u64>) -> Scene {
    let disk = Memory::new();
    let node = world.node("bank").boot(move |node| serve(node, disk.clone())).start();
    let clock = world.clock();
    let mut clients = Vec::new();
    for key in 0..KEYS {
        let told = Rc::new(Told::default());
        clients.push(Rc::clone(&told));
        world.spawn(Client { key, node: node.clone(), clock: clock.clone(), told }.run());
    }
    let (crashing, mut step, mut is_down) = (node.clone(), 0_u64, false);
    // Looked at after every step.
    world.always("crashes", move || {
        step += 1;
        if std::mem::take(&mut is_down) {
            crashing.restart();
        } else if crashes.contains(&step) {
            crashes.retain(|crash| *crash != step);
            if step % 2 == 0 {
                crashing.restart();
            } else {
                crashing.kill();
                is_down = true;
            }
        }
        Ok(())
    });
    Scene { node, clients }
}

impl Scene {
    /// Waits until all is acknowledged, and reads it back after a last crash.
    fn end(&self, world: &mut World) {
        let clock = world.clock();
        world.run_within(LONG, async {
            while self.clients.iter().any(|told| told.acknowledged.get() < NOTES) {
                clock.sleep(MS).await;
            }
        });
        self.node.restart();
        world.run_within(LONG, async {
            for (key, told) in self.clients.iter().enumerate() {
                let (node, clock, told) = (self.node.clone(), clock.clone(), Rc::clone(told));
                assert_eq!(Client { key, node, clock, told }.count().await, NOTES);
            }
        });
    }

    fn has(&self, what: impl Fn(&Told) -> &Cell<bool>) -> bool {
        self.clients.iter().any(|told| what(told).get())
    }
}

/// The steps of a run without a crash.
fn steps(seed: u64) -> u64 {
    let mut world = World::new(seed);
    let scene = scene(&mut world, Vec::new());
    scene.end(&mut world);
    assert_eq!(scene.node.incarnation(), 1, "the last one alone");
    world.steps()
}

// [G-JOURNAL-1] [G-JOURNAL-2] [G-JOURNAL-3]
#[test]
fn a_node_that_crashes_anywhere_has_what_was_acknowledged() {
    Explore::new().seeds(SEEDS).twice().run(|world| {
        let crashes = (0..CRASHES).map(|_| 1 + world.pick(600) as u64).collect();
        let scene = scene(world, crashes);
        scene.end(world);
        world.sometimes("an event outlived its writer unseen", scene.has(|told| &told.kept));
        world.sometimes("an event was lost on its way", scene.has(|told| &told.lost));
    });
}

// [G-JOURNAL-1] [G-JOURNAL-2] [G-JOURNAL-3]
#[test]
fn a_node_that_crashes_at_each_step_in_turn_has_what_was_acknowledged() {
    for seed in 0..THOROUGH {
        for step in 1..=steps(seed) {
            let mut world = World::new(seed);
            scene(&mut world, vec![step]).end(&mut world);
        }
    }
}

// Which of those who wait for one write hears of it first, the world decides, and nothing else.
#[test]
fn those_who_wait_for_one_write_hear_of_it_in_an_order_that_repeats() {
    let heard = |seed| {
        let mut world = World::new(seed);
        let disk = Memory::new();
        let node = world.node("bank").boot(move |node| serve(node, disk.clone())).start();
        world.settle();
        let ledger = node.system().find::<Ledger>(&name(0)).unwrap();
        let heard = Rc::new(RefCell::new(Vec::new()));
        for number in 1..=NOTES {
            let (heard, ledger) = (Rc::clone(&heard), ledger.clone());
            world.spawn(async move {
                let (_, commit) = ledger.record(Noted::Number(number)).await.unwrap();
                commit.unwrap().wait().await.unwrap();
                heard.borrow_mut().push(number);
            });
        }
        world.run_for(MS);
        let heard = heard.take();
        assert_eq!(heard.len() as u64, NOTES);
        (heard, world.trace_hash())
    };
    for seed in 0..SEEDS {
        assert_eq!(heard(seed), heard(seed), "seed {seed}");
    }
}
