//! Who is told, who tells, and what must come of it.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::{
    Actor, ActorId, AskError, Context, DeadLetterReason, DeadLetters, Down, ExitReason, Ref,
    System, handlers,
};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Nodes that tell.
pub(crate) const CLIENTS: usize = 2;

/// Whose messages these are: the client, its incarnation, how often that has connected, and which of its actors there.
pub(crate) type Stream = (u8, u64, u64, u64);

/// One life of a client, or of the server: which, and its incarnation.
pub(crate) type Life = (u8, u64);

fn life_of(stream: Stream) -> Life {
    (stream.0, stream.1)
}

/// The number of who is told in place of a client's.
pub(crate) const SERVER: u8 = 0;

/// What has become of the messages from one life to desks; of a server's, what it has lost of them.
#[derive(Debug, Default)]
struct Fates {
    /// Those that its node has taken, or is about to.
    accepted: u64,
    /// Of questions those that were answered.
    handled: u64,
    /// Those that were not handled, as its node reports.
    undelivered: u64,
    /// Those that may have been when their connection ended, as its node reports.
    unsure: u64,
    /// Questions whose askers were told that no answer comes.
    unanswered: u64,
}

/// What a desk notes of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Greeted,
    Told(u64),
    Down(ExitReason),
    /// What a handler saw that must not be: a panic there would be the end of an actor, of which there are many.
    Wrong(String),
}

/// What which incarnation of the desk has noted, in order.
pub(crate) type Log = Arc<Mutex<Vec<(u64, Stream, What)>>>;

/// Notes what it is told, counts it for each stream, and watches who tells. Its mailbox is short: much has to wait for room in
/// it, and the end of who sent that comes behind it.
#[derive(Actor)]
#[actor(mailbox = bounded(8))]
pub(crate) struct Desk {
    incarnation: u64,
    counts: BTreeMap<Stream, u64>,
    tellers: BTreeMap<ActorId, Stream>,
    shared: Shared,
}

impl Desk {
    pub(crate) fn new(incarnation: u64, shared: &Shared) -> Self {
        let (counts, tellers) = Default::default();
        Self { incarnation, counts, tellers, shared: shared.clone() }
    }

    fn handle(&self, stream: Stream) {
        self.shared.note_fate(life_of(stream), |fates| fates.handled += 1);
    }

    fn write(&self, stream: Stream, what: What) {
        self.shared.log.lock().unwrap().push((self.incarnation, stream, what));
    }
}

#[handlers(wire = "test.desk/1")]
impl Desk {
    #[tell]
    fn greet(&mut self, stream: Stream, teller: Ref<Teller>, cx: &mut Context<Self>) {
        self.handle(stream);
        cx.watch(&teller, Self::down);
        let twice = self.tellers.insert(teller.id(), stream);
        let what = twice.map_or(What::Greeted, |_| What::Wrong("a teller greets twice".to_owned()));
        self.write(stream, what);
    }
    #[tell]
    pub(crate) fn note(&mut self, stream: Stream, number: u64) {
        self.handle(stream);
        *self.counts.entry(stream).or_insert(0) += 1;
        self.write(stream, What::Told(number));
    }
    #[ask]
    pub(crate) fn count(&self, stream: Stream) -> u64 {
        self.counts.get(&stream).copied().unwrap_or(0)
    }
    #[down]
    fn down(&mut self, down: Down) {
        match self.tellers.remove(&down.actor) {
            Some(stream) => self.write(stream, What::Down(down.reason)),
            None => self.write((0, 0, 0, 0), What::Wrong("a watch ends twice".to_owned())),
        }
    }
}

/// What a teller waits for when it has asked.
pub(crate) type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What tellers share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Messages that each tells before it asks.
    pub(crate) tells_per_ask: u64,
    /// How long each waits for an answer.
    pub(crate) patience: Duration,
    pub(crate) pause: Arc<dyn Fn() -> Pause + Send + Sync>,
    pub(crate) log: Log,
    /// Questions of each client that were answered.
    pub(crate) answered: Arc<[AtomicU64; CLIENTS]>,
    /// Questions that were not, though their connection did not end.
    pub(crate) unanswered: Arc<AtomicU64>,
    /// How much those have told that have said all.
    finished: Arc<Mutex<BTreeMap<Stream, u64>>>,
    fates: Arc<Mutex<BTreeMap<Life, Fates>>>,
    /// What nodes report.
    letters: Arc<Mutex<BTreeMap<Life, DeadLetters>>>,
}

impl Shared {
    pub(crate) fn new(
        tells_per_ask: u64,
        patience: Duration,
        pause: Arc<dyn Fn() -> Pause + Send + Sync>,
    ) -> Self {
        let (log, answered, unanswered, finished) = Default::default();
        let (fates, letters) = Default::default();
        Self { tells_per_ask, patience, pause, log, answered, unanswered, finished, fates, letters }
    }

    fn note_fate(&self, life: Life, change: impl FnOnce(&mut Fates)) {
        change(self.fates.lock().unwrap().entry(life).or_default());
    }

    /// Before it can be handled.
    fn note_accepted(&self, stream: Stream) {
        self.note_fate(life_of(stream), |fates| fates.accepted += 1);
    }

    fn note_refused(&self, stream: Stream) {
        self.note_fate(life_of(stream), |fates| fates.accepted -= 1);
    }

    /// Hears from now on what a node reports of messages to desks.
    pub(crate) fn listen(&self, life: Life, system: &System) {
        self.letters.lock().unwrap().insert(life, system.dead_letters());
    }

    /// Counts what nodes have reported since the last time.
    pub(crate) fn count_letters(&self) {
        for (life, letters) in &mut *self.letters.lock().unwrap() {
            while let Some(letter) = letters.try_next() {
                if letter.message.ends_with("::DeskMessage") {
                    self.note_fate(*life, |fates| fates.report(*life, &letter.reason));
                }
            }
            assert_eq!(letters.missed(), 0, "reports of {life:?}");
        }
    }

    /// Messages that had come, and were not handled, as servers report.
    pub(crate) fn lost_there(&self) -> u64 {
        let fates = self.fates.lock().unwrap();
        let servers = fates.iter().filter(|(life, _)| life.0 == SERVER);
        servers.map(|(_, fates)| fates.undelivered).sum()
    }
}

impl Fates {
    fn report(&mut self, life: Life, reason: &DeadLetterReason) {
        match reason {
            DeadLetterReason::MaybeDelivered => self.unsure += 1,
            // Those that had not left when their connection, or their node, ended are of the second and third kind.
            DeadLetterReason::Undelivered(_)
            | DeadLetterReason::Stopped
            | DeadLetterReason::Crashed => self.undelivered += 1,
            // A question may come too late.
            DeadLetterReason::Expired | DeadLetterReason::Cancelled if life.0 == SERVER => {}
            other => panic!("a message of {life:?} is reported otherwise: {other}"),
        }
    }
}

/// Tells a desk as much as it is to, as long as it can, and then ends.
#[derive(Actor)]
pub(crate) struct Teller(pub(crate) Shared);

#[handlers(wire = "test.teller/1")]
impl Teller {
    #[tell]
    pub(crate) async fn talk(
        &mut self,
        desk: Ref<Desk>,
        stream: Stream,
        rounds: u64,
        cx: &mut Context<Self>,
    ) {
        self.0.note_accepted(stream);
        if desk.greet(stream, cx.me()).await.is_err() {
            self.0.note_refused(stream);
        } else if self.tell(&desk, stream, rounds).await {
            self.0.finished.lock().unwrap().insert(stream, rounds * self.0.tells_per_ask);
        }
        cx.stop();
    }

    /// `false` if the connection has ended before.
    async fn tell(&self, desk: &Ref<Desk>, stream: Stream, rounds: u64) -> bool {
        for number in 0..rounds * self.0.tells_per_ask {
            self.0.note_accepted(stream);
            if desk.note(stream, number).await.is_err() {
                self.0.note_refused(stream);
                return false;
            }
            if (number + 1).is_multiple_of(self.0.tells_per_ask) {
                self.ask(desk, stream, number + 1).await;
                (self.0.pause)().await;
            }
        }
        true
    }
}

impl Teller {
    async fn ask(&self, desk: &Ref<Desk>, stream: Stream, told: u64) {
        self.0.note_accepted(stream);
        let outcome = desk.count(stream).within(self.0.patience).await;
        self.0.note_fate(life_of(stream), |fates| match outcome {
            Ok(_) => fates.handled += 1,
            Err(_) => fates.unanswered += 1,
        });
        match outcome {
            Ok(count) if count == told => {
                self.0.answered[usize::from(stream.0) - 1].fetch_add(1, Relaxed);
            }
            Ok(count) => {
                let what = format!("{count} when {told} were told before it is asked");
                self.0.log.lock().unwrap().push((0, stream, What::Wrong(what)));
            }
            // It may expire when the other node stands still.
            Err(AskError::Expired | AskError::NoReply) => {
                self.0.unanswered.fetch_add(1, Relaxed);
            }
            Err(_) => {}
        }
    }
}

/// Has one actor after another talk, under these numbers, until the connection or the system ends.
pub(crate) async fn talk(
    shared: &Shared,
    system: impl Fn() -> Option<System>,
    desk: &Ref<Desk>,
    (who, incarnation, connection): (u8, u64, u64),
    numbers: impl Iterator<Item = u64>,
) {
    for number in numbers {
        let Some(system) = system() else { return };
        let Ok(teller) = system.spawn::<Teller>(Teller(shared.clone())).await else { return };
        let stream = (who, incarnation, connection, number);
        let rounds = 1 + (connection + number) % 7;
        if teller.talk(desk.clone(), stream, rounds).await.is_err() {
            return;
        }
        teller.ended().await;
        if !shared.finished.lock().unwrap().contains_key(&stream) {
            return;
        }
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
    /// Connections that must have ended: the end of an actor came before its last message. [G-REMOTE-5]
    cut: BTreeSet<(u8, u64, u64)>,
}

fn connection_of(stream: Stream) -> (u8, u64, u64) {
    (stream.0, stream.1, stream.2)
}

impl Open {
    /// The end of a connection is told before anything of a newer one.
    fn greet(&mut self, stream: Stream) {
        self.assert_uncut(stream);
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
        self.assert_uncut(stream);
        let Some(next) = self.next.get_mut(&stream) else {
            panic!("{stream:?} tells before it greets, or after its end");
        };
        assert_eq!(number, *next, "{stream:?} comes in order, once, without holes");
        *next += 1;
    }

    fn assert_uncut(&self, stream: Stream) {
        let is_cut = self.cut.contains(&connection_of(stream));
        assert!(!is_cut, "{stream:?} comes after an end that came too early");
    }

    /// Once, and after all that it has told, if the connection has not ended before.
    fn end(&mut self, stream: Stream, reason: &ExitReason, finished: &BTreeMap<Stream, u64>) {
        if matches!(reason, ExitReason::NoActor) {
            assert!(self.missed.insert(stream), "a watch ends once");
            return;
        }
        let told = self.next.remove(&stream).expect("a watch ends once");
        match (reason, finished.get(&stream)) {
            (ExitReason::Stopped | ExitReason::Killed, Some(all)) if told < *all => {
                self.cut.insert(connection_of(stream));
            }
            (ExitReason::Stopped | ExitReason::Killed, Some(all)) => assert_eq!(told, *all),
            // Killed is who still talks when the time is over in which its node was to stop.
            (ExitReason::Stopped | ExitReason::Killed | ExitReason::NodeDown, _) => {}
            (other, _) => panic!("{stream:?} ends otherwise: {other}"),
        }
    }
}

/// What has happened in a run.
#[derive(Default)]
pub(crate) struct Seen {
    /// Those who told have ended while they were watched.
    pub(crate) ends: bool,
    /// Or the connection has.
    pub(crate) breaks: bool,
    /// A node has reported messages that were not handled,
    pub(crate) undelivered: bool,
    /// and some that may have been.
    pub(crate) unsure: bool,
}

impl Shared {
    /// Holds what desks have noted, and nodes have reported, against what was promised.
    // [G-REMOTE-1] [G-REMOTE-2] [G-REMOTE-3] [G-REMOTE-4] [G-REMOTE-5] [G-REMOTE-7]
    pub(crate) fn judge(&self) -> Seen {
        let mut seen = self.judge_streams();
        for (life, fates) in &*self.fates.lock().unwrap() {
            if life.0 == SERVER {
                continue;
            }
            // No more are said to be undelivered than were not handled.
            assert!(fates.handled + fates.undelivered <= fates.accepted, "{life:?}: {fates:?}");
            seen.undelivered |= fates.undelivered > 0;
            seen.unsure |= fates.unsure > 0;
        }
        seen
    }

    /// Messages of a life to desks that go on, of which nothing is known at that end: those under way, and those that had come
    /// and waited when their connection ended. What was handled, and may not have been as well as its node knows, counts twice.
    pub(crate) fn unknown(&self, life: Life) -> u64 {
        self.fates.lock().unwrap().get(&life).map_or(0, |fates| {
            let known = fates.handled + fates.undelivered + fates.unsure + fates.unanswered;
            fates.accepted.saturating_sub(known)
        })
    }

    fn judge_streams(&self) -> Seen {
        let (log, finished) = (self.log.lock().unwrap(), self.finished.lock().unwrap());
        let mut desks = BTreeMap::<u64, Open>::new();
        let mut reached = BTreeMap::new();
        let mut seen = Seen::default();
        for (incarnation, stream, what) in &*log {
            assert!(!matches!(what, What::Wrong(_)), "{stream:?}: {what:?}");
            let by = reached.entry(*stream).or_insert(*incarnation);
            assert_eq!(by, incarnation, "{stream:?} reaches one incarnation");
            let desk = desks.entry(*incarnation).or_default();
            match what {
                What::Greeted => desk.greet(*stream),
                What::Told(number) => desk.tell(*stream, *number),
                What::Down(reason) => {
                    desk.end(*stream, reason, &finished);
                    seen.breaks |= *reason == ExitReason::NodeDown;
                    seen.ends |= *reason == ExitReason::Stopped;
                }
                What::Wrong(_) => {}
            }
        }
        seen
    }
}
