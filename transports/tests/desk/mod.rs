//! Who is told, who tells, and what must come of it.

use greenroom::sim::WorldClock;
use greenroom::{Actor, ActorId, Context, Down, ExitReason, Ref, handlers};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Messages that are told before one is asked.
const TELLS_PER_ASK: u64 = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// Whose messages these are: the client, its incarnation, how often that has connected, and which of its actors there.
pub(super) type Stream = (u8, u64, u64, u64);

/// What a desk notes of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Greeted,
    Told(u64),
    Down(ExitReason),
}

/// What which incarnation of the desk has noted, in order.
pub(super) type Log = Arc<Mutex<Vec<(u64, Stream, What)>>>;

/// Notes what it is told, counts it for each stream, and watches who tells. Its mailbox is short: much has to wait for room in
/// it, and the end of who sent that comes behind it.
#[derive(Actor)]
#[actor(mailbox = bounded(8))]
pub(super) struct Desk {
    incarnation: u64,
    counts: BTreeMap<Stream, u64>,
    tellers: BTreeMap<ActorId, Stream>,
    log: Log,
}

impl Desk {
    pub(super) fn new(incarnation: u64, log: &Log) -> Self {
        let (counts, tellers) = Default::default();
        Self { incarnation, counts, tellers, log: Arc::clone(log) }
    }

    fn write(&self, stream: Stream, what: What) {
        self.log.lock().unwrap().push((self.incarnation, stream, what));
    }
}

#[handlers(wire = "test.desk/1")]
impl Desk {
    #[tell]
    fn greet(&mut self, stream: Stream, teller: Ref<Teller>, cx: &mut Context<Self>) {
        cx.watch(&teller, Self::down);
        let twice = self.tellers.insert(teller.id(), stream);
        assert_eq!(twice, None, "each teller greets once");
        self.write(stream, What::Greeted);
    }
    #[tell]
    pub(super) fn note(&mut self, stream: Stream, number: u64) {
        *self.counts.entry(stream).or_insert(0) += 1;
        self.write(stream, What::Told(number));
    }
    #[ask]
    pub(super) fn count(&self, stream: Stream) -> u64 {
        self.counts.get(&stream).copied().unwrap_or(0)
    }
    #[down]
    fn down(&mut self, down: Down) {
        let stream = self.tellers.remove(&down.actor).expect("a watch ends once");
        self.write(stream, What::Down(down.reason));
    }
}

/// What the tellers of a world share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) clock: WorldClock,
    /// Questions of each client that were answered.
    pub(super) answered: Arc<[AtomicU64; super::CLIENTS]>,
    /// How much those have told that have said all.
    pub(super) finished: Arc<Mutex<BTreeMap<Stream, u64>>>,
}

/// Tells a desk as much as it is to, as long as it can, and then ends.
#[derive(Actor)]
pub(super) struct Teller(pub(super) Shared);

#[handlers(wire = "test.teller/1")]
impl Teller {
    #[tell]
    pub(super) async fn talk(
        &mut self,
        desk: Ref<Desk>,
        stream: Stream,
        rounds: u64,
        cx: &mut Context<Self>,
    ) {
        if desk.greet(stream, cx.me()).await.is_ok() && self.tell(&desk, stream, rounds).await {
            self.0.finished.lock().unwrap().insert(stream, rounds * TELLS_PER_ASK);
        }
        cx.stop();
    }

    /// `false` if the connection has ended before.
    async fn tell(&self, desk: &Ref<Desk>, stream: Stream, rounds: u64) -> bool {
        for number in 0..rounds * TELLS_PER_ASK {
            if desk.note(stream, number).await.is_err() {
                return false;
            }
            if number % TELLS_PER_ASK == TELLS_PER_ASK - 1 {
                // A question may expire when the other node stands still; what was told before it is told.
                if let Ok(count) = desk.count(stream).await {
                    assert_eq!(count, number + 1, "{stream:?}: told before it is asked");
                    self.0.answered[usize::from(stream.0) - 1].fetch_add(1, Relaxed);
                }
                self.0.clock.sleep(PAUSE).await;
            }
        }
        true
    }
}

/// What one desk has of those who tell.
#[derive(Default)]
struct Open {
    /// The number that each tells next.
    next: BTreeMap<Stream, u64>,
    /// Those who were found to have ended when they were looked for, by the reference in their greeting. They may still have
    /// something under way.
    missed: BTreeSet<Stream>,
}

impl Open {
    /// The end of a connection is told before anything of a newer one.
    fn greet(&mut self, stream: Stream) {
        let (client, incarnation, connection, _) = stream;
        let is_older =
            |other: &Stream| other.0 == client && (other.1, other.2) < (incarnation, connection);
        // Of those that were missed nothing more may come.
        self.missed.retain(|other| {
            let is_over = is_older(other);
            if is_over {
                self.next.remove(other);
            }
            !is_over
        });
        let older = self.next.keys().find(|other| is_older(other));
        assert_eq!(older, None, "{stream:?} comes before the end of its former connection is told");
        assert_eq!(self.next.insert(stream, 0), None, "{stream:?} greets twice");
    }

    /// In order, once, without holes, and not after the end was told.
    fn tell(&mut self, stream: Stream, number: u64) {
        let Some(next) = self.next.get_mut(&stream) else {
            panic!("{stream:?} tells before it greets, or after its end");
        };
        assert_eq!(number, *next, "{stream:?} comes in order, once, without holes");
        *next += 1;
    }

    /// Once, and after all that it has told, if the connection has not ended before.
    fn end(&mut self, stream: Stream, reason: &ExitReason, finished: &BTreeMap<Stream, u64>) {
        if matches!(reason, ExitReason::NoActor) {
            assert!(self.missed.insert(stream), "a watch ends once");
            return;
        }
        let told = self.next.remove(&stream).expect("a watch ends once");
        if let (ExitReason::Stopped, Some(all)) = (reason, finished.get(&stream)) {
            assert_eq!(told, *all, "{stream:?} has ended before its last message came");
        }
    }
}

/// Whether those who told have ended in both ways while they were watched.
pub(super) struct Seen {
    pub(super) ends: bool,
    pub(super) breaks: bool,
}

/// Holds what desks have noted against what was promised.
// [G-REMOTE-1] [G-REMOTE-2] [G-REMOTE-3] [G-REMOTE-4] [G-REMOTE-5]
pub(super) fn judge(log: &[(u64, Stream, What)], finished: &BTreeMap<Stream, u64>) -> Seen {
    let mut desks = BTreeMap::<u64, Open>::new();
    let mut reached = BTreeMap::new();
    let mut seen = Seen { ends: false, breaks: false };
    for (incarnation, stream, what) in log {
        let by = reached.entry(*stream).or_insert(*incarnation);
        assert_eq!(by, incarnation, "{stream:?} reaches one incarnation");
        let desk = desks.entry(*incarnation).or_default();
        match what {
            What::Greeted => desk.greet(*stream),
            What::Told(number) => desk.tell(*stream, *number),
            What::Down(reason) => {
                desk.end(*stream, reason, finished);
                seen.breaks |= *reason == ExitReason::NodeDown;
                seen.ends |= *reason == ExitReason::Stopped;
            }
        }
    }
    seen
}
