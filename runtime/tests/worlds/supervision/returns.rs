//! Who comes back after an incarnation, held against what it was hired as: whoever must does so in time, and nobody
//! else does.

use super::cast::BACKOFF;
use super::chronicle::{Crew, Note};
use super::{CREW, SEATS};
use greenroom::sim::World;
use greenroom::{ActorId, Event, ExitReason, RestartKind, Strategy};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// By how much what is due may be late: timers have ticks of a millisecond, and a step may come late.
const SLACK: Duration = Duration::from_millis(2);
/// In which a leaf that is asked to stop has ended its handler and its stop hook.
const STOP: Duration = Duration::from_millis(5);

const MARKS: [&str; 4] = [
    "a temporary child fails",
    "a transient child leaves",
    "a permanent child leaves",
    "a child is ended from outside",
];

/// A child of a supervisor.
#[derive(Debug)]
struct Child {
    crew: Crew,
    strategy: Strategy,
    kind: RestartKind,
    /// Whether somebody outside has asked it to stop, or has killed it.
    is_ended: bool,
    /// Whether somebody outside has asked it to drain: it may come back for its mail.
    drains: bool,
    /// Whether its incarnation stops itself.
    has_left: bool,
    /// Since when it has been due to start again, or to try.
    due: Option<Duration>,
    /// Whether it has been said that it starts again.
    is_announced: bool,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Returns {
    children: BTreeMap<ActorId, Child>,
    /// Which incarnation of a supervisor hired last.
    heads: BTreeMap<ActorId, u32>,
    /// When incarnations of supervisors were over.
    over: BTreeMap<Crew, Duration>,
    /// Since when a supervisor is known to end all its children.
    closing: BTreeMap<Crew, Duration>,
    /// Children that ended where they should have started again, if their supervisor had not ended, too.
    unreturned: Vec<(ActorId, Crew, Duration)>,
    marks: BTreeSet<&'static str>,
}

impl Returns {
    /// Reads the notes up to where all drain, and fails where somebody comes back, or does not, against what it is.
    pub(super) fn judge(notes: &[(Duration, Note)]) -> Self {
        let mut returns = Self::default();
        for (_, note) in notes {
            returns.hire(note);
        }
        let mut drains = false;
        for (now, note) in notes {
            drains |= matches!(note, Note::Ending(true));
            returns.note_over(*now, note);
            if !drains {
                returns.read(*now, note);
            }
        }
        for (child, crew, at) in &returns.unreturned {
            let over = returns.over.get(crew);
            let round = returns.round(crew);
            let is_excused = drains || over.is_some_and(|over| over.abs_diff(*at) < round);
            assert!(is_excused, "{child} ends at {at:?}, and {crew:?} goes on without it");
        }
        returns
    }

    pub(super) fn mark(&self, world: &mut World) {
        for mark in MARKS {
            world.sometimes(mark, self.marks.contains(mark));
        }
    }

    /// What everybody is, before all else: a child may fail before its supervisor has noted that it has it.
    fn hire(&mut self, note: &Note) {
        let Note::Hired { head, strategy, child, kind, .. } = note else { return };
        let hired = Child {
            crew: *head,
            strategy: *strategy,
            kind: *kind,
            is_ended: false,
            drains: false,
            has_left: false,
            due: None,
            is_announced: false,
        };
        self.children.insert(*child, hired);
    }

    /// Notes which incarnation of a supervisor is the present one, and when it is over.
    fn note_over(&mut self, now: Duration, note: &Note) {
        match note {
            Note::Hired { head, .. } => drop(self.heads.insert(head.0, head.1)),
            Note::Stops(actor, _) | Note::Gone(actor) => {
                if let Some(&incarnation) = self.heads.get(actor) {
                    self.over.entry((*actor, incarnation)).or_insert(now);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, now: Duration, note: &Note) {
        let actor = match note {
            Note::Event(
                Event::Started { actor, .. }
                | Event::Restarting { actor, .. }
                | Event::Ended { actor, .. },
            )
            | Note::Fails(actor)
            | Note::Leaves(actor)
            | Note::Stops(actor, _)
            | Note::Gone(actor)
            | Note::Struck { actor, .. } => *actor,
            _ => return,
        };
        let Some(child) = self.children.get_mut(&actor) else { return };
        match note {
            Note::Fails(_) => {
                if child.kind == RestartKind::Never && !child.has_left {
                    self.marks.insert(MARKS[0]);
                }
                // Where it is due, this is a start that fails.
                child.due = child.due.map(|_| now);
            }
            Note::Leaves(_) => {
                child.has_left = true;
                match child.kind {
                    RestartKind::Transient => drop(self.marks.insert(MARKS[1])),
                    RestartKind::Permanent => drop(self.marks.insert(MARKS[2])),
                    _ => {}
                }
            }
            Note::Stops(_, reason) => {
                let is_asked = matches!(reason, ExitReason::Stopped | ExitReason::Killed);
                if is_asked && child.is_led() && !child.has_left {
                    self.note_closing(actor, now);
                }
            }
            Note::Gone(_) => {
                child.is_announced = false;
                child.due = child.must_return().then_some(now);
                let (crew, strategy) = (child.crew, child.strategy);
                if strategy != Strategy::OneForOne {
                    self.wait_anew(&crew, now);
                }
            }
            Note::Struck { drains, .. } => {
                self.marks.insert(MARKS[3]);
                child.drains |= drains;
                child.is_ended |= !drains;
                child.due = None;
            }
            Note::Event(Event::Restarting { reason, .. }) => {
                child.may_return(actor, reason);
                self.in_time(actor, now, false);
                self.note_announced(actor, now);
            }
            Note::Event(Event::Started { incarnation, .. }) => {
                assert_eq!(child.is_announced, *incarnation > 0, "{actor} starts as {child:?}");
                self.in_time(actor, now, false);
                self.note_started(actor);
            }
            _ => self.ends(actor, now),
        }
    }

    /// One more of a crew that goes together is gone: with a failure the round begins anew.
    fn wait_anew(&mut self, crew: &Crew, now: Duration) {
        for child in self.children.values_mut().filter(|child| child.crew == *crew) {
            child.due = child.due.map(|_| now);
        }
    }

    fn note_announced(&mut self, actor: ActorId, now: Duration) {
        let Some(child) = self.children.get_mut(&actor) else { return };
        child.is_announced = true;
        child.due = child.due.map(|_| now);
    }

    fn note_started(&mut self, actor: ActorId) {
        let Some(child) = self.children.get_mut(&actor) else { return };
        child.is_announced = false;
        child.has_left = false;
        child.due = None;
    }

    /// The supervisor of `actor` ends its children. So may the one above, who had this one end before all others.
    fn note_closing(&mut self, actor: ActorId, now: Duration) {
        let Some(child) = self.children.get(&actor) else { return };
        self.closing.entry(child.crew).or_insert(now);
        if let Some(head) = self.children.get(&child.crew.0) {
            self.closing.entry(head.crew).or_insert(now);
        }
    }

    fn ends(&mut self, actor: ActorId, now: Duration) {
        let child = &self.children[&actor];
        let (crew, is_due) = (child.crew, child.due.is_some());
        if child.kind != RestartKind::Never && child.is_led() && !child.has_left {
            self.note_closing(actor, now);
        }
        let began = self.closing.get(&crew).map_or(now, |began| now.min(*began));
        self.in_time(actor, began, true);
        if is_due {
            self.unreturned.push((actor, crew, now));
        }
    }

    /// How long a whole crew takes to stop, one after the other, and to wait before it starts again.
    fn round(&self, crew: &Crew) -> Duration {
        let is_inner = self.children.contains_key(&crew.0);
        let leaves = if is_inner { CREW } else { SEATS };
        BACKOFF[1] + STOP * u32::try_from(leaves).unwrap()
    }

    /// Whoever is due to start again does so in time; or its supervisor began to end its children before that.
    fn in_time(&self, actor: ActorId, now: Duration, ends: bool) {
        let child = &self.children[&actor];
        let wait = if child.is_announced { BACKOFF[1] } else { Duration::ZERO };
        let longest = match child.strategy {
            // That its supervisor ends is seen when a child does that would have gone on: those that end by themselves
            // are waited for before.
            Strategy::OneForOne if ends => wait + 3 * STOP,
            Strategy::OneForOne => wait + SLACK,
            _ => self.round(&child.crew),
        };
        let is_late = child.due.is_some_and(|due| now > due + longest);
        assert!(!is_late, "{actor} is due, and is not back at {now:?}: {child:?}");
    }
}

impl Child {
    /// Whether nobody but its supervisor has a say in its end.
    fn is_led(&self) -> bool {
        !self.is_ended && !self.drains
    }

    /// Whether another incarnation is to follow the one that is over, if its supervisor goes on.
    fn must_return(&self) -> bool {
        let is_meant = match self.kind {
            RestartKind::Permanent => true,
            RestartKind::Transient => !self.has_left,
            _ => false,
        };
        is_meant && self.is_led()
    }

    /// What it is, and how it ended, let it start again.
    fn may_return(&self, actor: ActorId, reason: &ExitReason) {
        use ExitReason::{Drained, Killed, Stopped};
        let may = match self.kind {
            RestartKind::Permanent => !matches!(reason, Killed),
            RestartKind::Transient => !matches!(reason, Stopped | Drained | Killed),
            _ => false,
        };
        assert!(may, "{actor}, which {reason}, comes back: {self:?}");
        assert!(!self.is_ended, "{actor} was asked to end, and comes back: {self:?}");
    }
}
