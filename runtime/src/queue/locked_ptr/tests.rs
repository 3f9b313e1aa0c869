use super::LockedPtr;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, rounds, thread};
use std::ptr::without_provenance_mut;

/// Threads swap numbers into the pointer and into its locked twin, which shows the same at every moment.
#[test]
fn it_is_what_its_locked_twin_is() {
    let shared = Arc::new((LockedPtr::<u64>::new(), Mutex::new(0), AtomicUsize::new(0)));
    let count = rounds(10_000, 1_000, 30);
    let threads: Vec<_> = (1..=3_usize)
        .map(|who| {
            let shared = shared.clone();
            thread::spawn(move || {
                for round in 0..count {
                    let mut guard = shared.0.lock();
                    let mut twin = shared.1.try_lock().expect("who holds the pointer is alone");
                    assert_eq!(guard.pointer.addr(), *twin);
                    *twin = (round * 4 + who) * 8;
                    guard.pointer = without_provenance_mut(*twin);
                    shared.2.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(shared.2.load(Ordering::Relaxed), 3 * count);
    assert_eq!(shared.0.lock().pointer.addr(), *shared.1.lock());
}
