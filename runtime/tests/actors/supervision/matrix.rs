//! Every strategy with every restart type, every exit and every way to stop a child, against a supervisor
//! on paper.

use crate::supervision::family::*;
use crate::support::everywhere;
use greenroom::{ExitReason, Ref, RestartKind, Shutdown, Strategy, System};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

const KINDS: [RestartKind; 3] =
    [RestartKind::Permanent, RestartKind::Transient, RestartKind::Never];
const SHUTDOWNS: [Shutdown; 3] =
    [Shutdown::Within(crate::support::LONG), Shutdown::Kill, Shutdown::Forever];

/// How the one in question ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Exit {
    Panic,
    Fail,
    Leave,
    Stop,
    Drain,
    Kill,
    /// One that it is linked to fails.
    Link,
    /// A panic, and the start that follows fails.
    BadStart,
}

const EXITS: [Exit; 8] = [
    Exit::Panic,
    Exit::Fail,
    Exit::Leave,
    Exit::Stop,
    Exit::Drain,
    Exit::Kill,
    Exit::Link,
    Exit::BadStart,
];

impl Exit {
    /// Lets a member end so; returns the reason.
    async fn cause(self, member: &Ref<Member>, plan: &Plan, system: &System) -> ExitReason {
        match self {
            Self::Panic | Self::BadStart => {
                plan.bad_starts.store(u32::from(self == Self::BadStart), Ordering::SeqCst);
                member.panic().try_send().expect("it lives");
                panicked()
            }
            Self::Fail => {
                member.fail().try_send().expect("it lives");
                ExitReason::Failed("no hope".to_owned())
            }
            Self::Leave => {
                member.leave().try_send().expect("it lives");
                ExitReason::Stopped
            }
            Self::Stop => {
                assert!(member.stop());
                ExitReason::Stopped
            }
            Self::Drain => {
                assert!(member.drain());
                ExitReason::Drained
            }
            Self::Kill => {
                assert!(member.kill());
                ExitReason::Killed
            }
            Self::Link => fall_together(member, system).await,
        }
    }

    /// Whether one of that type comes back, as the book says.
    fn is_restarted(self, kind: RestartKind) -> bool {
        match self {
            Self::Panic | Self::Fail | Self::Link | Self::BadStart => kind != RestartKind::Never,
            Self::Leave => kind == RestartKind::Permanent,
            Self::Stop | Self::Drain | Self::Kill => false,
        }
    }
}

/// Links a member to a stranger, who fails; returns the member's reason.
async fn fall_together(member: &Ref<Member>, system: &System) -> ExitReason {
    let stranger = system.spawn::<Stranger>(Stranger).await.expect("it starts");
    // It may fail before it can answer.
    _ = member.link_and_fail(stranger.clone()).await;
    let reason = Box::new(ExitReason::Failed("no hope".to_owned()));
    ExitReason::Linked { actor: stranger.id(), reason }
}

/// A supervisor on paper: one thing after the other, in loops over lists.
struct Paper {
    strategy: Strategy,
    shutdown: Shutdown,
    /// The types of those who are there, and whether they run.
    there: BTreeMap<usize, (RestartKind, bool)>,
    /// Whose next start fails.
    bad_start: Option<usize>,
    notes: Vec<Note>,
}

impl Paper {
    fn stops(&mut self, number: usize, reason: ExitReason) {
        if self.shutdown != Shutdown::Kill {
            self.notes.push(Stopped(number, reason));
        }
        self.notes.push(Dropped(number));
    }

    fn exits(&mut self, number: usize, exit: Exit, reason: ExitReason) {
        if exit != Exit::Kill {
            self.notes.push(Stopped(number, reason));
        }
        self.notes.push(Dropped(number));
        if !exit.is_restarted(self.there[&number].0) {
            self.there.remove(&number);
            return;
        }
        self.fails(number);
    }

    fn fails(&mut self, number: usize) {
        self.there.get_mut(&number).expect("it is there").1 = false;
        let with: Vec<usize> = match self.strategy {
            Strategy::OneForOne => vec![number],
            Strategy::OneForAll => self.there.keys().copied().collect(),
            _ => self.there.keys().copied().filter(|&it| it >= number).collect(),
        };
        for &other in with.iter().rev() {
            let (kind, runs) = self.there[&other];
            if runs && kind == RestartKind::Never {
                self.stops(other, ExitReason::Stopped);
                self.there.remove(&other);
            } else if runs {
                self.stops(other, ExitReason::Restarted);
                self.there.insert(other, (kind, false));
            }
        }
        for other in with {
            if self.bad_start.take_if(|bad| *bad == other).is_some() {
                self.notes.push(StartFailed(other));
                return self.fails(other);
            }
            if let Some((_, runs)) = self.there.get_mut(&other) {
                *runs = true;
                self.notes.push(Started(other));
            }
        }
    }

    fn closes(mut self) -> Vec<Note> {
        while let Some((number, _)) = self.there.pop_last() {
            self.stops(number, ExitReason::Stopped);
        }
        self.notes.push(BossStopped);
        self.notes
    }
}

async fn case<P: Policy>(system: &System, kind: RestartKind, exit: Exit, shutdown: Shutdown) {
    // The one in question stands among others of every type.
    let kinds = [RestartKind::Permanent, kind, RestartKind::Never, RestartKind::Transient, kind];
    let victim = 1;
    let mut company = company::<P>(system, kinds.len(), |plan| {
        let kind = kinds[plan.number];
        plan.kind(kind).shutdown(shutdown)
    })
    .await;
    let reason = exit.cause(&company.members[victim], &company.plans[victim], system).await;
    let there = kinds.into_iter().map(|kind| (kind, true)).enumerate().collect();
    let bad_start = (exit == Exit::BadStart && exit.is_restarted(kind)).then_some(victim);
    let strategy = P::SUPERVISION.strategy();
    let mut paper = Paper { strategy, shutdown, there, bad_start, notes: Vec::new() };
    paper.exits(victim, exit, reason);
    let case = format!("{strategy:?}, {kind:?}, {exit:?}, {shutdown:?}");
    let mut notes = Vec::new();
    while notes.len() < paper.notes.len() {
        let note =
            crate::support::soon(company.notes.recv()).await.expect("the test has a sender, too");
        assert_eq!(note, paper.notes[notes.len()], "{case}: {notes:?}, {:?}", paper.notes);
        notes.push(note);
    }
    notes.extend(company.close().await);
    assert_eq!(notes, paper.closes(), "{case}");
}

// [G-SUPERVISE-1] [G-SUPERVISE-2] [G-SUPERVISE-4] [G-SUPERVISE-5]
#[test]
fn every_strategy_type_exit_and_shutdown_does_as_on_paper() {
    // As the book says.
    assert_eq!(3 * KINDS.len() * EXITS.len() * SHUTDOWNS.len(), 216);
    everywhere(async |system| {
        for kind in KINDS {
            for exit in EXITS {
                for shutdown in SHUTDOWNS {
                    case::<OneForOne>(system, kind, exit, shutdown).await;
                    case::<OneForAll>(system, kind, exit, shutdown).await;
                    case::<RestForOne>(system, kind, exit, shutdown).await;
                }
            }
        }
    });
}
