//! Boxes kept by each thread from one question to the next, by the type of what is in them.

use crate::sync::thread_local;
use std::any::Any;
use std::cell::Cell;

/// Boxes that a thread keeps at most.
const BOXES_MAX: usize = 32;

thread_local! {
    static SPARE: Cell<Vec<Box<dyn Any + Send>>> = const { Cell::new(Vec::new()) };
}

/// `value` in a box, in one that was given back if there is one for it.
pub(super) fn boxed<T: Any + Send>(value: T) -> Box<T> {
    let spare = SPARE.with(|spare| {
        let mut boxes = spare.take();
        // The last one first: its cache is warm.
        let found = boxes.iter().rposition(|spare| spare.is::<T>());
        let found = found.map(|place| boxes.swap_remove(place));
        spare.set(boxes);
        found
    });
    match spare.and_then(|spare| spare.downcast::<T>().ok()) {
        Some(mut spare) => {
            *spare = value;
            spare
        }
        None => Box::new(value),
    }
}

/// Takes a box back in which nothing is left that anybody waits for.
pub(super) fn give(empty: Box<dyn Any + Send>) {
    SPARE.with(|spare| {
        let mut boxes = spare.take();
        if boxes.len() == BOXES_MAX {
            // Perhaps of a type that nobody asks for any more.
            boxes.swap_remove(0);
        }
        boxes.push(empty);
        spare.set(boxes);
    });
}
