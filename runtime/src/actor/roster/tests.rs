//! Entries that come and go at once.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use super::{Entry, Roster};
use crate::actor::body::control;
use crate::actor::life::tests::{outlive, schedulers};
use crate::{Actor, Context, System, handlers};

#[derive(Actor)]
struct Watched;

#[handlers]
impl Watched {
    #[ask]
    fn is_watched(&self, cx: &mut Context<Self>) -> bool {
        let held = &mut cx.held();
        control(held).extras.as_ref().is_some_and(|extras| !extras.watchers.is_empty())
    }
}

#[test]
fn who_is_taken_off_before_its_watch_begins_is_not_watched() {
    for (scheduler, workers) in schedulers() {
        let system = System::builder().workers(workers).scheduler(scheduler).build().unwrap();
        let actor = system.spawn::<Watched>(Watched).start().unwrap();
        let (roster, cell) = (Roster::new(), actor.cell());
        assert!(roster.add(cell, ()));
        assert_eq!(actor.is_watched().wait(), Ok(true));
        assert!(roster.remove(cell));
        assert_eq!(actor.is_watched().wait(), Ok(false));
        // What another thread does between the two steps of the first one.
        let watch = cell.core.next_id();
        let number = roster.insert(cell, Entry { cell: cell.clone(), watch, note: () }).unwrap();
        assert!(roster.remove(cell));
        roster.watch(cell, number, watch);
        assert_eq!(actor.is_watched().wait(), Ok(false));
        drop((roster, actor));
        outlive(system);
    }
}
