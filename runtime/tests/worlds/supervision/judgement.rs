//! What was written down, held against a supervisor on paper.
//!
//! When a supervisor decides is not seen. It is after the child's state was dropped, and before the child is
//! restarted or ended: times have two ends, and what is said to be wrong is wrong wherever between them it was.

mod intensity;

use super::cast::LINGERS;
use super::chronicle::{Crew, Note};
use greenroom::sim::World;
use greenroom::{ActorId, Counts, Event, ExitReason, RestartKind, Shutdown, Strategy};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A failure of a child.
#[derive(Clone, Debug)]
struct Failure {
    child: ActorId,
    /// When its incarnation was gone.
    from: Duration,
    /// When it was restarted or ended for that; the end of all if it never was.
    to: Duration,
    /// Where in the notes the two are.
    places: [usize; 2],
    is_restarted: bool,
    /// Whether all the others were up, so that it belongs to no round of another one.
    is_alone: bool,
    /// How often each of the others had been gone by then.
    others: Vec<(ActorId, usize)>,
}

impl Failure {
    /// One that waits for what follows; how it is with the others is not known.
    fn new(child: ActorId, from: Duration, place: usize) -> Self {
        let (places, others) = ([place; 2], Vec::new());
        Self { child, from, to: from, places, is_restarted: false, is_alone: false, others }
    }
}

/// What is known of one actor while the notes are read.
#[derive(Clone, Debug, Default)]
struct Known {
    crew: Option<Crew>,
    /// Of a supervisor: the one that hired last.
    incarnation: u32,
    is_up: bool,
    has_started: bool,
    /// Whether it started for the first time while siblings were down, whose round goes on without it.
    is_late: bool,
    is_failing: bool,
    is_struck: bool,
    /// If its supervisor was asked to restart it, which may come at any time, whatever becomes of the others: how often its
    /// state will have been dropped when the incarnation that this was for is up.
    recalled: Option<usize>,
    /// Where in the notes somebody had it drain: what it fails of then is met at once, by itself, and uncounted.
    drains_from: Option<usize>,
    /// Times that its state was dropped.
    gone: usize,
    /// Its failure that waits for what follows.
    open: Option<Failure>,
    /// When it was asked to start, last.
    revived: Duration,
    shutdown: Option<Shutdown>,
    /// When the stop hook of its incarnation began, if it did, and whether that was for the sake of another child.
    hook: Option<(Duration, bool)>,
    /// Whether it went without one though it was up.
    is_hookless: bool,
    /// Until when it waits for its restart.
    backs_off: Option<Duration>,
    end: Option<(usize, ExitReason)>,
}

impl Known {
    /// Whether it may be restarted because its supervisor was asked to.
    fn is_recalled(&self) -> bool {
        self.recalled.is_some()
    }
}

/// The children of one incarnation of a supervisor, in the order of their start.
#[derive(Debug)]
struct Children {
    strategy: Strategy,
    all: Vec<(ActorId, RestartKind)>,
    failures: Vec<Failure>,
    /// Where its head's stop hook began, when, and why.
    stops: Option<(usize, Duration, ExitReason)>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Judgement {
    actors: BTreeMap<ActorId, Known>,
    crews: BTreeMap<Crew, Children>,
    restarts: u64,
    drained_at: Option<Duration>,
    marks: BTreeSet<&'static str>,
    links: Vec<(ActorId, ExitReason)>,
    ends: Vec<(ActorId, ExitReason)>,
}

const MARKS: [&str; 9] = [
    "a supervisor gives up",
    "the end of all meets a restart",
    "a back-off is cut short by an end",
    "a sibling is restarted",
    "a restart fails in its start",
    "a supervisor that gave up is restarted",
    "a link fails somebody",
    "a restart is asked for",
    "a restart is asked for that is due",
];

impl Judgement {
    /// Reads the notes, and fails where something comes that must not come then.
    pub(super) fn new(notes: &[(Duration, Note)]) -> Self {
        let mut judgement = Self::default();
        for (_, note) in notes {
            judgement.hire(note);
        }
        for (place, (now, note)) in notes.iter().enumerate() {
            judgement.read(place, *now, note);
        }
        let last = notes.last().map_or(Duration::ZERO, |(now, _)| *now);
        for actor in judgement.actors.clone().into_keys() {
            judgement.close_failure(actor, notes.len(), last, false);
        }
        judgement
    }

    /// Why the actor ended.
    pub(super) fn end_of(&self, actor: ActorId) -> Option<&ExitReason> {
        self.actors.get(&actor)?.end.as_ref().map(|(_, reason)| reason)
    }

    fn known(&mut self, actor: ActorId) -> &mut Known {
        self.actors.entry(actor).or_default()
    }

    /// Whose child is whose, before all else: a child may fail before its supervisor has noted that it has it.
    fn hire(&mut self, note: &Note) {
        if let Note::Hired { head, strategy, child, kind, shutdown } = note {
            let new = Children { strategy: *strategy, all: vec![], failures: vec![], stops: None };
            self.crews.entry(*head).or_insert(new).all.push((*child, *kind));
            let known = self.known(*child);
            known.crew = Some(*head);
            known.shutdown = Some(*shutdown);
        }
    }

    fn read(&mut self, place: usize, now: Duration, note: &Note) {
        match note {
            Note::Hired { head, .. } => self.known(head.0).incarnation = head.1,
            Note::Fails(actor) => {
                self.known(*actor).is_failing = true;
                self.open_failure(*actor, place, now);
            }
            Note::Stops(actor, reason) => self.stops(*actor, reason, place, now),
            Note::Gone(actor) => {
                self.known(*actor);
                self.goes_in_time(*actor, now);
                let known = self.known(*actor);
                known.is_hookless = known.is_up && known.hook.is_none();
                known.is_up = false;
                known.gone += 1;
                self.open_failure(*actor, place, now);
            }
            Note::Leaves(_) => {}
            Note::Recalled(actor) => {
                let known = self.known(*actor);
                // Who is not up may come up before it is told, and is restarted then.
                known.recalled = Some(known.gone + 1);
                let is_failing = known.open.is_some();
                self.marks.insert(MARKS[if is_failing { 8 } else { 7 }]);
            }
            Note::Struck { actor, drains } => {
                let known = self.known(*actor);
                known.is_struck = true;
                if *drains {
                    known.drains_from.get_or_insert(place);
                }
            }
            Note::Ending(drains) => {
                if *drains {
                    self.drained_at = Some(now);
                }
                let restarts =
                    |known: &Known| known.crew.is_some() && !known.is_up && known.end.is_none();
                if self.actors.values().any(|known| restarts(known) && known.gone > 0) {
                    self.marks.insert(MARKS[1]);
                }
            }
            Note::Event(event) => self.read_event(place, now, event),
        }
    }

    fn read_event(&mut self, place: usize, now: Duration, event: &Event) {
        match event {
            Event::Started { actor, incarnation } => {
                let known = self.known(*actor);
                // What is begun again before its first start was over has been restarted, but starts now.
                let is_again = std::mem::replace(&mut known.has_started, true);
                known.is_up = true;
                known.backs_off = None;
                known.hook = None;
                self.restarts += u64::from(is_again);
                if *incarnation > 0 {
                    self.started_in_turn(*actor);
                    self.has_restarted_all(*actor);
                }
                let known = self.known(*actor);
                let is_over = |gone: &mut usize| known.open.is_none() && known.gone >= *gone;
                known.recalled.take_if(is_over);
                // Behind what is said of the last one of a round.
                self.note_late(*actor, is_again);
            }
            Event::Restarting { actor, reason, delay } => {
                self.ends.push((*actor, reason.clone()));
                self.open_unseen(*actor, reason, place);
                if *reason == ExitReason::Restarted {
                    // A start that fails when its incarnation is being restarted already counts for nothing.
                    self.known(*actor).open = None;
                }
                self.judge_delay(*actor, reason, *delay, now);
                self.known(*actor).backs_off = (!delay.is_zero()).then_some(now + *delay);
                if *reason == ExitReason::Restarted {
                    self.marks.insert(MARKS[3]);
                    self.restarted_for_a_reason(*actor, now);
                } else {
                    if matches!(reason, ExitReason::TooManyRestarts { .. }) {
                        self.marks.insert(MARKS[5]);
                    }
                    if matches!(reason, ExitReason::StartFailed(_)) {
                        self.marks.insert(MARKS[4]);
                    }
                }
                self.close_failure(*actor, place, now, true);
                self.known(*actor).revived = now;
            }
            Event::Ended { actor, reason } => {
                self.ends.push((*actor, reason.clone()));
                self.open_unseen(*actor, reason, place);
                self.close_failure(*actor, place, now, false);
                let known = self.known(*actor);
                assert_eq!(known.end, None, "{actor} ends once");
                known.end = Some((place, reason.clone()));
                known.is_up = false;
                if known.backs_off.is_some_and(|until| until > now) {
                    self.marks.insert(MARKS[2]);
                }
                self.note_rounds_end(*actor);
            }
            _ => {}
        }
    }

    fn stops(&mut self, actor: ActorId, reason: &ExitReason, place: usize, now: Duration) {
        use ExitReason::{Drained, Killed, Restarted, Stopped};
        self.ends.push((actor, reason.clone()));
        self.known(actor).hook = Some((now, *reason == Restarted));
        if !matches!(reason, Stopped | Drained | Killed | Restarted) {
            self.known(actor).is_failing = true;
        }
        if let ExitReason::Linked { actor: peer, reason } = reason {
            self.marks.insert(MARKS[6]);
            self.links.push((*peer, (**reason).clone()));
        }
        if *reason == Restarted {
            self.stopped_in_turn(actor, now);
        }
        let crew = (actor, self.known(actor).incarnation);
        let Some(children) = self.crews.get_mut(&crew) else { return };
        children.stops = Some((place, now, reason.clone()));
        if matches!(reason, ExitReason::TooManyRestarts { .. }) {
            self.marks.insert(MARKS[0]);
        }
    }

    /// The strategy of an actor's supervisor, and its siblings that were started later, or all others.
    fn siblings(&self, actor: ActorId, later: bool) -> Option<(Strategy, Vec<ActorId>)> {
        let children = self.crews.get(&self.actors.get(&actor)?.crew?)?;
        let place = children.all.iter().position(|(child, _)| *child == actor)?;
        let from = if later { place + 1 } else { 0 };
        let others = children.all[from..].iter().map(|(child, _)| *child);
        Some((children.strategy, others.filter(|other| *other != actor).collect()))
    }

    /// Who starts for the first time beside somebody who is down is late for that round.
    fn note_late(&mut self, actor: ActorId, is_again: bool) {
        let Some((_, others)) = self.siblings(actor, false) else { return };
        let is_round = others.iter().any(|other| self.is_down(*other));
        self.known(actor).is_late = is_round && !is_again;
        self.note_rounds_end(actor);
    }

    /// Nobody is late any more when nobody of the crew is down.
    fn note_rounds_end(&mut self, actor: ActorId) {
        let Some((_, others)) = self.siblings(actor, false) else { return };
        if !others.iter().chain([&actor]).any(|one| self.is_down(*one)) {
            others.into_iter().for_each(|other| self.known(other).is_late = false);
        }
    }

    fn is_down(&self, actor: ActorId) -> bool {
        let known = &self.actors[&actor];
        known.is_failing || known.gone > 0 && !known.is_up && known.end.is_none()
    }

    fn is_up(&self, actor: ActorId) -> bool {
        self.actors.get(&actor).is_some_and(|known| known.is_up)
    }

    /// An incarnation that fails is over, as far as is known.
    fn open_failure(&mut self, child: ActorId, place: usize, now: Duration) {
        if !self.known(child).is_failing {
            return;
        }
        let Some((strategy, others)) = self.siblings(child, false) else { return };
        let ended = |other: &ActorId| self.actors[other].end.is_some();
        let is_alone = strategy == Strategy::OneForOne
            || others.iter().all(|other| self.is_up(*other) || ended(other));
        let affected = match strategy {
            Strategy::OneForOne => Vec::new(),
            Strategy::OneForAll => others,
            _ => self.siblings(child, true).map(|(_, later)| later).unwrap_or_default(),
        };
        let up = affected.into_iter().filter(|other| self.is_up(*other));
        let others = up.map(|other| (other, self.actors[&other].gone)).collect();
        let failure = Failure::new(child, now, place);
        self.known(child).open = Some(Failure { is_alone, others, ..failure });
    }

    /// A link that fails an incarnation which is yet to start leaves no note of it before this.
    fn open_unseen(&mut self, child: ActorId, reason: &ExitReason, place: usize) {
        let known = self.known(child);
        if known.open.is_some() || !matches!(reason, ExitReason::Linked { .. }) {
            return;
        }
        known.open = Some(Failure::new(child, known.revived, place));
    }

    fn close_failure(&mut self, child: ActorId, place: usize, now: Duration, is_restarted: bool) {
        let known = self.known(child);
        known.is_failing = false;
        let (open, crew) = (known.open.take(), known.crew);
        let (Some(mut failure), Some(crew)) = (open, crew) else { return };
        failure.to = now;
        failure.places[1] = place;
        failure.is_restarted = is_restarted;
        if let Some(children) = self.crews.get_mut(&crew) {
            children.failures.push(failure);
        }
    }

    /// Whether somebody ended the actor, or its supervisor, by what may have been a drain: so that it may start by itself,
    /// without a turn and uncounted.
    fn may_drain(&self, actor: ActorId) -> bool {
        let crew = self.actors.get(&actor).and_then(|known| known.crew);
        [Some(actor), crew.map(|crew| crew.0)]
            .into_iter()
            .flatten()
            .any(|actor| self.actors.get(&actor).is_some_and(|known| known.is_struck))
    }

    /// One of those who is up, does not drain, and is part of the round.
    fn stands(&self, actors: &[ActorId]) -> Option<ActorId> {
        let stands = |actor: &ActorId| {
            self.is_up(*actor) && !self.may_drain(*actor) && !self.actors[actor].is_late
        };
        actors.iter().copied().find(stands)
    }

    /// Nobody who was started later is up when somebody starts again, where they go together: but who drains does not
    /// wait for a round to be over.
    fn started_in_turn(&self, actor: ActorId) {
        let Some((strategy, later)) = self.siblings(actor, true) else { return };
        if self.drained_at.is_some() || self.may_drain(actor) || self.actors[&actor].is_recalled() {
            return;
        }
        let up = self.stands(&later);
        assert!(
            strategy == Strategy::OneForOne || up.is_none(),
            "{actor} starts before {up:?} has ended"
        );
    }

    /// As [`Self::started_in_turn`], when somebody is stopped for the sake of another.
    fn stopped_in_turn(&self, actor: ActorId, now: Duration) {
        let Some((_, later)) = self.siblings(actor, true) else { return };
        let up = self.stands(&later).filter(|_| !self.actors[&actor].is_recalled());
        assert!(up.is_none(), "{actor} stops before {up:?} has ended at {now:?}");
    }

    /// Those who had to fall with the last failure of `actor`, which is up again, have fallen.
    fn has_restarted_all(&self, actor: ActorId) {
        let Some(children) = self.actors[&actor].crew.and_then(|crew| self.crews.get(&crew)) else {
            return;
        };
        let last = children.failures.iter().rev().find(|failure| failure.child == actor);
        let Some(failure) = last.filter(|failure| failure.is_alone && failure.is_restarted) else {
            return;
        };
        for (other, gone) in &failure.others {
            let has_fallen = self.actors[other].gone > *gone;
            let is_late = self.drained_at.is_some_and(|at| failure.to >= at);
            let is_excused = is_late || self.may_drain(actor) || self.may_drain(*other);
            assert!(has_fallen || is_excused, "{other} goes on though {actor} has failed");
        }
    }

    /// Who is restarted for the sake of another one has a sibling that failed meanwhile, and was started earlier where
    /// that matters.
    fn restarted_for_a_reason(&self, actor: ActorId, now: Duration) {
        let known = &self.actors[&actor];
        let (strategy, others) = self.siblings(actor, false).expect("it has a supervisor");
        let later = self.siblings(actor, true).map(|(_, later)| later).unwrap_or_default();
        let crew = known.crew.and_then(|crew| self.crews.get(&crew)).expect("it has a supervisor");
        let is_reason = |other: &ActorId| {
            let closed = crew.failures.iter().filter(|failure| failure.child == *other);
            let closed = closed.map(|failure| failure.to);
            let open = self.actors[other].open.as_ref().map(|_| now);
            let may_be = strategy == Strategy::OneForAll || !later.contains(other);
            may_be && closed.chain(open).any(|to| to >= known.revived)
        };
        let is_skipped = known.is_hookless && known.shutdown == Some(Shutdown::Forever);
        assert!(!is_skipped, "the stop hook of {actor} was skipped");
        if known.is_recalled() {
            return;
        }
        assert_ne!(strategy, Strategy::OneForOne, "{actor} falls alone");
        assert!(others.iter().any(is_reason), "{actor} is restarted for nobody");
    }

    /// Who is stopped for the sake of another, and may take so long only, is killed long before its hook would be over.
    fn goes_in_time(&self, actor: ActorId, now: Duration) {
        let known = &self.actors[&actor];
        if let (Some((since, true)), Some(Shutdown::Within(_))) = (known.hook, known.shutdown) {
            assert!(now - since < LINGERS / 2, "{actor} takes too long to stop");
        }
    }

    /// What can be said when all is over.
    pub(super) fn judge(&self, counts: &Counts) {
        assert_eq!(counts.restarts, self.restarts);
        for (crew, children) in &self.crews {
            self.not_too_many(crew, children);
            self.not_too_few(crew, children);
            self.in_reverse_order(crew, children);
        }
        for (actor, reason) in &self.links {
            let known = matches!(reason, ExitReason::NoActor | ExitReason::Restarted);
            let ended = self.ends.iter().any(|end| end.0 == *actor && end.1 == *reason);
            assert!(known || ended, "nobody was {actor}, which {reason}");
        }
    }

    /// Of those whom nobody else ended, and who do not leave, the last one ends first; and all before their supervisor.
    fn in_reverse_order(&self, crew: &Crew, children: &Children) {
        let Some((stops, ..)) = &children.stops else { return };
        let mut later = *stops;
        for (child, kind) in children.all.iter() {
            let (place, _) = self.actors[child].end.as_ref().expect("it has ended");
            assert!(place < stops, "{child} ends after its supervisor {crew:?}");
            if *kind == RestartKind::Permanent && !self.actors[child].is_struck {
                assert!(*place < later, "{child} ends too late in {crew:?}");
                later = *place;
            }
        }
    }

    pub(super) fn mark(&self, world: &mut World) {
        for mark in MARKS {
            world.sometimes(mark, self.marks.contains(mark));
        }
        for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
            let judged = |children: &Children| {
                let alone = |failure: &&Failure| failure.is_restarted && failure.is_alone;
                children.strategy == strategy && children.failures.iter().filter(alone).count() > 1
            };
            world
                .sometimes(format!("{strategy:?} restarts twice"), self.crews.values().any(judged));
        }
    }
}
