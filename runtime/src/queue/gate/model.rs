//! loom: some enter and leave while another one seals and walks the list; whoever ends it all sees what they did.

use super::{Gate, Leave};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, UnsafeCell, thread};

struct House {
    gate: Gate,
    list: Mutex<Vec<usize>>,
    ends: AtomicUsize,
    /// What each one did inside, who are 1 and 2.
    deeds: [UnsafeCell<usize>; 2],
}

// SAFETY: that deeds are read by who ends the house, after those who were inside, is what loom checks.
unsafe impl Send for House {}
// SAFETY: as above.
unsafe impl Sync for House {}

impl House {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(),
            list: Mutex::new(Vec::new()),
            ends: AtomicUsize::new(0),
            deeds: [1, 2].map(|_| UnsafeCell::new(0)),
        })
    }

    fn enter(&self, who: usize) -> bool {
        self.gate.enter(|| self.list.lock(), |list| list.push(who)).is_ok()
    }

    fn leave(&self, who: usize) {
        self.list.lock().retain(|&listed| listed != who);
        // SAFETY: each one's own while it is inside, which loom checks.
        self.deeds[who - 1].with_mut(|deed| unsafe { *deed = who });
        if self.gate.leave() == Leave::Orphan {
            self.end();
        }
    }

    /// Nobody is inside, and nobody will come: all that was done there is seen, also without the list's lock.
    fn end(&self) {
        for deed in &self.deeds {
            // SAFETY: who did it has left, which loom checks.
            deed.with(|deed| unsafe { *deed });
        }
        self.ends.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn who_seals_finds_everyone_inside() {
    loom::model(|| {
        let house = House::new();
        let threads = [1, 2].map(|who| {
            let house = house.clone();
            thread::spawn(move || house.enter(who))
        });
        house.gate.seal();
        let found = house.list.lock().clone();
        let inside = threads.map(|thread| thread.join().unwrap());
        assert_eq!(found.contains(&1), inside[0]);
        assert_eq!(found.contains(&2), inside[1]);
        assert_eq!(house.gate.count(), found.len());
    });
}

#[test]
fn an_orphaned_house_is_ended_once() {
    loom::model(|| {
        let house = House::new();
        let threads = [1, 2].map(|who| {
            let house = house.clone();
            thread::spawn(move || {
                match house.gate.enter(|| house.list.lock(), |list| list.push(who)) {
                    Ok(()) => house.leave(who),
                    Err(Leave::Orphan) => house.end(),
                    Err(_) => {}
                }
            })
        });
        if house.gate.orphan() {
            house.end();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        // Who finds a sealed gate is counted for a moment, and may be the last to leave after the end.
        assert!(house.ends.load(Ordering::Relaxed) >= 1, "somebody ends it");
        assert_eq!(house.gate.count(), 0);
    });
}
