//! Two systems that have one queue, whose workers are given their turns by the test.

use super::Guarded;
use crate::event::{Event, Events};
use crate::scheduler::{Batch, ByHand, Manner, Origin, ReadyQueue, Took, WorkerId};
use crate::sync::{Arc, Mutex, WakeList};
use crate::task::core::Core;
use crate::task::witness;
use crate::task::{Hint, Ready};
use crate::time::Clock;
use crate::{Actor, Ref, Scheduler, System, handlers};
use std::collections::VecDeque;
use std::sync::OnceLock;

type Line = Arc<Mutex<VecDeque<Ready>>>;

/// One line for both.
struct Common(Line);

impl ReadyQueue for Common {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.0.lock().push_back(ready);
    }
    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        if let Some(ready) = self.0.lock().pop_front() {
            batch.push(ready);
        }
    }
    fn has_work(&self, _worker: WorkerId) -> bool {
        !self.0.lock().is_empty()
    }
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

#[derive(Actor)]
struct Nobody;

#[handlers]
impl Nobody {
    #[tell]
    fn nod(&self) {}
}

/// Never ends, and so keeps what it has; here those find it who look for memory that nothing leads to.
static LOST: OnceLock<Ref<Nobody>> = OnceLock::new();

/// A system of one worker.
fn system(line: &Line) -> (System, Arc<Core>, ByHand) {
    let common = Common(line.clone());
    let built = System::builder().workers(1).scheduler(Scheduler::custom(|_| common));
    let (clock, _hand) = Clock::by_hand();
    let (system, core, mut workers) =
        built.build_by_hand(clock, &WakeList::new(), 0).expect("it is in range");
    (system, core, workers.remove(0))
}

fn turn(worker: &mut ByHand) -> Took {
    worker.turn(Manner::default(), witness::Nobody)
}

#[test]
fn a_stranger_goes_home_as_long_as_somebody_is_there() {
    let line = Line::new(Mutex::default());
    let ((one, core, mut own), (other, _, mut wrong)) = (system(&line), system(&line));
    let nobody = one.spawn::<Nobody>(Nobody).start().unwrap();
    assert_eq!(turn(&mut wrong), Took::Turn(None), "it is another system's");
    assert_eq!(line.lock().len(), 1, "it has gone home");
    assert!(matches!(turn(&mut own), Took::Turn(Some(_))), "it runs there");
    while turn(&mut own) != Took::Nothing {}
    nobody.nod().try_send().unwrap();
    assert_eq!(line.lock().len(), 1, "it is ready");
    core.end_workers();
    assert_eq!(turn(&mut own), Took::Left);
    assert_eq!(turn(&mut wrong), Took::Nothing, "nobody is there, and nothing is left to do");
    assert!(line.lock().is_empty());
    assert!(LOST.set(nobody).is_ok(), "it is lost");
    drop((one, other));
    assert_eq!(turn(&mut wrong), Took::Left);
}

/// Holds nothing, and panics when it is dropped.
struct Frail;

impl ReadyQueue for Frail {
    fn push(&self, _from: Origin, _ready: Ready, _hint: Hint) {}
    fn pop(&self, _worker: WorkerId, _batch: &mut Batch) {}
    fn has_work(&self, _worker: WorkerId) -> bool {
        false
    }
    fn len(&self) -> usize {
        0
    }
}

impl Drop for Frail {
    fn drop(&mut self) {
        panic!("in its drop");
    }
}

#[test]
fn a_panic_in_the_drop_of_a_queue_is_told_of_and_goes_no_further() {
    let events = Arc::new(Events::new(1));
    let mut told = events.subscribe();
    drop(Guarded::new(Box::new(Frail), 1, events.clone()));
    let Some(Event::QueuePanicked { text }) = told.try_next() else { panic!("it is told") };
    assert!(text.contains("in its drop"), "{text}");
}
