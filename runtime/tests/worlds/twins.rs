//! All ready queues and mailboxes, each on the same stream of choices: whatever the order in which actors run, what
//! each receiver gets from each sender and what is counted is the same.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{SCHEDULINGS, Scheduling, policies, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Full, Mailbox, Options, Ref, System, handlers};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SEEDS: u64 = if cfg!(sanitized) { 10 } else { 40 };
const SENDERS: usize = 3;
const RECEIVERS: usize = 2;
const LETTERS_MAX: usize = 24;

/// What each receiver got from each sender, in order.
type Got = BTreeMap<(usize, usize), Vec<u32>>;

/// Who writes to whom, in order; each sender numbers its letters.
type Script = Vec<(usize, usize)>;

policies! {
    /// Tells the mailboxes of otherwise equal actors apart.
    Policy { MAILBOX: Mailbox }
    Unbounded = Mailbox::unbounded();
    Waiting = Mailbox::bounded(2);
    Weighing = Mailbox::bounded(8).bytes(60);
    Rejecting = Mailbox::bounded(1).full(Full::Reject);
    DroppingNewest = Mailbox::bounded(2).full(Full::DropNewest);
    DroppingOldest = Mailbox::bounded(2).full(Full::DropOldest);
}

/// Notes what it gets.
struct Reader<P> {
    me: usize,
    got: Arc<Mutex<Got>>,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Reader<P> {
    const OPTIONS: Options = Options::new().mailbox(P::MAILBOX);
}

#[handlers]
impl<P: Policy> Reader<P> {
    #[tell]
    async fn read(&mut self, from: usize, number: u32) {
        if number.is_multiple_of(2) {
            tokio::task::yield_now().await;
        }
        self.got.lock().unwrap().entry((from, self.me)).or_default().push(number);
    }
}

/// Writes what the script says.
struct Writer<P: Policy> {
    me: usize,
    readers: Vec<Ref<Reader<P>>>,
}

impl<P: Policy> Actor for Writer<P> {}

#[handlers]
impl<P: Policy> Writer<P> {
    #[tell]
    async fn write(&mut self, script: Arc<Script>, waits: bool, cx: &mut Context<Self>) {
        let own = script.iter().filter(|(from, _)| *from == self.me);
        for (number, (_, to)) in (0..).zip(own) {
            let letter = self.readers[*to].read(self.me, number);
            if waits {
                letter.await.unwrap();
            } else {
                let _refused = letter.tell();
                tokio::task::yield_now().await;
            }
        }
        cx.stop();
    }
}

/// Plays a script in a system of its own, and returns what the readers got.
async fn act<P: Policy>(system: &System, script: &Arc<Script>, waits: bool) -> Got {
    let got = Arc::new(Mutex::new(Got::new()));
    let mut readers = Vec::new();
    for me in 0..RECEIVERS {
        let reader = Reader::<P> { me, got: Arc::clone(&got), of: PhantomData };
        readers.push(system.spawn::<Reader<P>>(reader).await.unwrap());
    }
    for me in 0..SENDERS {
        let writer = Writer { me, readers: readers.clone() };
        let writer = system.spawn::<Writer<P>>(writer).await.unwrap();
        writer.write(Arc::clone(script), waits).await.unwrap();
    }
    while system.counts().ended < SENDERS as u64 {
        tokio::task::yield_now().await;
    }
    system.drain(Duration::from_secs(60)).await.unwrap();
    let got = got.lock().unwrap();
    got.clone()
}

/// What everybody gets where nothing is refused or dropped.
fn model(script: &Script) -> Got {
    let (mut got, mut numbers) = (Got::new(), [0; SENDERS]);
    for &(from, to) in script {
        got.entry((from, to)).or_default().push(numbers[from]);
        numbers[from] += 1;
    }
    got
}

fn system(world: &mut World, scheduler: Scheduling, workers: usize) -> System {
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(workers), scheduler));
    node.start().system()
}

/// What is waited for arrives, in order; what is not, arrives in order or is counted.
fn compare<P: Policy>(
    world: &mut World,
    scheduler: Scheduling,
    script: &Arc<Script>,
    workers: usize,
) {
    let whole = model(script);
    let patient = system(world, scheduler, workers);
    let got = world.run(act::<P>(&patient, script, true));
    assert_eq!(got, whole);
    let counts = patient.counts();
    assert_eq!((counts.started, counts.ended), (5, 5), "{counts:?}");
    assert_eq!((counts.rejected_full, counts.dropped_newest, counts.dropped_oldest), (0, 0, 0));
    let hasty = system(world, scheduler, workers);
    let got = world.run(act::<P>(&hasty, script, false));
    let counts = hasty.counts();
    let missing = counts.rejected_full + counts.dropped_newest + counts.dropped_oldest;
    let arrived: usize = got.values().map(Vec::len).sum();
    assert_eq!(arrived as u64 + missing, script.len() as u64, "{counts:?}");
    for (pair, numbers) in &got {
        assert!(numbers.is_sorted(), "in order: {numbers:?}");
        assert!(numbers.iter().all(|number| whole[pair].contains(number)), "{numbers:?}");
    }
    let is_bounded = P::MAILBOX != Mailbox::unbounded();
    world.sometimes(std::any::type_name::<P>(), missing > 0 || !is_bounded);
}

/// Plays a script with one kind of mailbox under every scheduler. What is drawn is drawn before anything depends on the
/// scheduler, so that each of them gets the same scripts, and its world of a seed the same stream of choices.
fn play<P: Policy>() {
    for scheduler in SCHEDULINGS {
        Explore::new().seeds(SEEDS).run(|world| {
            let letters = 1 + world.pick(LETTERS_MAX);
            let script = (0..letters).map(|_| (world.pick(SENDERS), world.pick(RECEIVERS)));
            let (script, workers) = (Arc::new(script.collect::<Script>()), 1 + world.pick(3));
            compare::<P>(world, scheduler, &script, workers);
        });
    }
}

#[test]
fn ready_queues_and_mailboxes_are_alike() {
    play::<Unbounded>();
    play::<Waiting>();
    play::<Weighing>();
    play::<Rejecting>();
    play::<DroppingNewest>();
    play::<DroppingOldest>();
}
