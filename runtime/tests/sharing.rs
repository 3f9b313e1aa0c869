//! What one worker cannot run, another one does.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod support;

use greenroom::{Actor, handlers};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use support::{SHARING, hold_worker, on, until};

/// Blocks its worker, or counts.
#[derive(Actor)]
struct Guest {
    seated: Arc<AtomicUsize>,
}

#[handlers]
impl Guest {
    #[tell]
    fn block(&mut self, released: mpsc::Receiver<()>) {
        // An error says that it is released.
        let _ = released.recv();
    }
    #[tell]
    fn sit(&mut self) {
        self.seated.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_handler_that_blocks_delays_no_other_actor_while_a_worker_is_free() {
    const GUESTS: usize = 40;
    for scheduler in SHARING {
        for place in [0, 1, 20, 39] {
            on(2, scheduler(), async |system| {
                let seated = Arc::new(AtomicUsize::new(0));
                let mut guests = Vec::new();
                for _ in 0..=GUESTS {
                    let guest = Guest { seated: Arc::clone(&seated) };
                    guests.push(system.spawn::<Guest>(guest).await.unwrap());
                }
                // So that all are queued before the first of them runs.
                let holds = [hold_worker(system).await, hold_worker(system).await];
                let (release, released) = mpsc::channel();
                let mut released = Some(released);
                for (number, guest) in guests.iter().enumerate() {
                    let tell = match released.take_if(|_| number == place) {
                        Some(released) => guest.block(released),
                        None => guest.sit(),
                    };
                    tell.try_send().unwrap();
                }
                drop(holds);
                until(|| seated.load(Ordering::Relaxed) == GUESTS).await;
                drop(release);
            });
        }
    }
}
