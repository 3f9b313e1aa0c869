//! Threads that are ready before the clock starts.

use greenroom_benches::core_to_core::bind;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Runs every part on a thread of its own, bound to a core, and gives back what they found and how long
/// it took from the moment when all were ready until the last one was done.
pub(crate) fn together<R: Send>(
    parts: Vec<Box<dyn FnOnce() -> R + Send + '_>>,
) -> (Duration, Vec<R>) {
    let ready = &Barrier::new(parts.len());
    let run = |(core, part): (usize, Box<dyn FnOnce() -> R + Send>)| {
        bind(core);
        ready.wait();
        let began = Instant::now();
        let found = part();
        (began, Instant::now(), found)
    };
    let done: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> =
            parts.into_iter().enumerate().map(|part| scope.spawn(move || run(part))).collect();
        started.into_iter().map(|thread| thread.join().expect("no part panics")).collect()
    });
    let began = done.iter().map(|(began, ..)| *began).min().expect("there is a part");
    let ended = done.iter().map(|(_, ended, _)| *ended).max().expect("there is a part");
    (ended - began, done.into_iter().map(|(.., found)| found).collect())
}

/// Looks that wait for another thread: spins, and on a busy machine gives way.
#[derive(Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Between two looks.
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
        if self.0.is_multiple_of(10_000) {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
