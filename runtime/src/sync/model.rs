//! loom: the owners of one counted pointer.

use super::Arc;
use crate::sync::{UnsafeCell, thread};

struct Cell(UnsafeCell<u32>);

// SAFETY: each owner but the last only reads; loom checks it.
unsafe impl Sync for Cell {}
// SAFETY: as above.
unsafe impl Send for Cell {}

impl Drop for Cell {
    fn drop(&mut self) {
        // SAFETY: the last owner is alone; loom checks it.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

#[test]
fn the_last_owner_sees_what_the_others_did() {
    loom::model(|| {
        let first = Arc::new(Cell(UnsafeCell::new(1)));
        let second = first.clone();
        let thread = thread::spawn(move || {
            // SAFETY: nobody writes while there is another owner; loom checks it.
            second.0.with(|value| assert_eq!(unsafe { *value }, 1));
        });
        // SAFETY: as above.
        first.0.with(|value| assert_eq!(unsafe { *value }, 1));
        drop(first);
        thread.join().unwrap();
    });
}

#[test]
fn what_is_changed_is_used_by_nobody_else() {
    loom::model(|| {
        let mut first = Arc::new(Some(Cell(UnsafeCell::new(1))));
        let second = first.clone();
        let thread = thread::spawn(move || {
            let cell = (*second).as_ref().unwrap();
            // SAFETY: nobody writes while there is another owner; loom checks it.
            cell.0.with(|value| assert_eq!(unsafe { *value }, 1));
        });
        if let Some(cell) = first.unshared() {
            // SAFETY: there is no other owner any more; loom checks it.
            cell.0.with_mut(|value| unsafe { *value = 2 });
        }
        thread.join().unwrap();
    });
}
