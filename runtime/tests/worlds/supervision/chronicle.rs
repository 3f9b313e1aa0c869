//! What happened in a world, in order, with the world's time.

use super::cast::Watched;
use super::judgement::Judgement;
use greenroom::sim::WorldClock;
use greenroom::{
    ActorId, DeadLetter, DeadLetters, Event, EventStream, ExitReason, RestartKind, Shutdown,
    Strategy, System,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// One incarnation of a supervisor.
pub(super) type Crew = (ActorId, u32);

#[derive(Clone, Debug)]
pub(super) enum Note {
    /// A child of that incarnation has started for the first time.
    Hired {
        head: Crew,
        strategy: Strategy,
        child: ActorId,
        kind: RestartKind,
        shutdown: Shutdown,
    },
    /// It is about to fail, or to stop itself.
    Fails(ActorId),
    /// It is about to stop itself.
    Leaves(ActorId),
    /// Its stop hook begins.
    Stops(ActorId, ExitReason),
    /// Its state is dropped.
    Gone(ActorId),
    /// Somebody outside ended it, or has it drain.
    Struck {
        actor: ActorId,
        drains: bool,
    },
    /// Its supervisor was asked to restart it, and does.
    Recalled(ActorId),
    /// The end of all begins; whether all is to drain.
    Ending(bool),
    Event(Event),
}

/// See the [module](self).
pub(super) struct Chronicle {
    clock: WorldClock,
    notes: Mutex<Vec<(Duration, Note)>>,
    news: Mutex<(EventStream, DeadLetters)>,
    letters: Mutex<Vec<DeadLetter>>,
    strategies: Mutex<BTreeMap<usize, Strategy>>,
}

impl Chronicle {
    pub(super) fn new(clock: WorldClock, system: &System) -> Self {
        Self {
            clock,
            notes: Mutex::default(),
            news: Mutex::new((system.events(), system.dead_letters())),
            letters: Mutex::default(),
            strategies: Mutex::default(),
        }
    }

    /// Writes it down behind what the system has reported of the same turn.
    pub(super) fn note(&self, note: Note) {
        self.take_news();
        self.notes.lock().push((self.clock.now(), note));
    }

    pub(super) fn note_struck(&self, actor: ActorId, drains: bool) {
        self.note(Note::Struck { actor, drains });
    }

    pub(super) fn note_ending(&self, drains: bool) {
        self.note(Note::Ending(drains));
    }

    /// By which strategy the head of that number supervises.
    pub(super) fn note_strategy(&self, head: usize, strategy: Strategy) {
        self.strategies.lock().insert(head, strategy);
    }

    pub(super) fn strategy_of(&self, head: usize) -> Option<Strategy> {
        self.strategies.lock().get(&head).copied()
    }

    /// Writes down what the system has reported.
    pub(super) fn take_news(&self) {
        let now = self.clock.now();
        let (events, letters) = &mut *self.news.lock();
        let mut notes = self.notes.lock();
        while let Some(event) = events.try_next() {
            notes.push((now, Note::Event(event)));
        }
        while let Some(letter) = letters.try_next() {
            self.letters.lock().push(letter);
        }
    }

    pub(super) fn letters(&self) -> Vec<DeadLetter> {
        self.letters.lock().clone()
    }

    /// Actors that ended before they had started.
    pub(super) fn never_started(&self) -> u64 {
        let mut started = std::collections::BTreeSet::new();
        let mut count = 0;
        for (_, note) in &*self.notes.lock() {
            match note {
                Note::Event(Event::Started { actor, .. }) => drop(started.insert(*actor)),
                Note::Event(Event::Ended { actor, .. }) => {
                    count += u64::from(!started.contains(actor));
                }
                _ => {}
            }
        }
        count
    }

    pub(super) fn take(&self) -> Vec<(Duration, Note)> {
        let (events, letters) = &*self.news.lock();
        assert_eq!((events.missed(), letters.missed()), (0, 0), "each step was looked at");
        std::mem::take(&mut *self.notes.lock())
    }

    /// Each watch ended in one `Down`, with the reason of the end, and none that was taken back.
    pub(super) fn judge_downs(&self, downs: &BTreeMap<ActorId, Watched>, judgement: &Judgement) {
        for (actor, watched) in downs {
            let ended = judgement.end_of(*actor).expect("it has ended");
            let expected = usize::from(!watched.is_off);
            assert_eq!(watched.downs.len(), expected, "{actor} ended: {ended}; {watched:?}");
            for reason in &watched.downs {
                assert!(reason == ended || *reason == ExitReason::NoActor, "{reason} for {ended}");
            }
        }
    }
}
