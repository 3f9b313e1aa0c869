//! What the programs have in common in every library: whom actors meet, what they become, and the
//! world outside the runtime.

use std::fs;
use std::hint::black_box;
use std::thread;
use tokio::sync::oneshot;

/// The sum of the numbers below `n`.
#[must_use]
pub fn sum_below(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// The work of `fork_join_throughput`, whose answer nobody needs.
#[expect(clippy::cast_precision_loss, reason = "any angle will do")]
pub fn compute(number: u64) {
    black_box(black_box(number as f64).sin());
}

/// A xorshift generator, which throws the same in every run.
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice of their own for each `index`.
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// One of `count` actors, but not `me`.
    pub fn other(&mut self, me: usize, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let other = (self.0 % (count as u64 - 1)) as usize;
        other + usize::from(other >= me)
    }
}

/// The colour of a chameneos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// As a third of them is born.
    Blue,
    /// As another third is born.
    Red,
    /// As the last third is born.
    Yellow,
}

impl Colour {
    /// The colour that a creature is born with.
    #[must_use]
    pub fn of(index: usize) -> Self {
        match index % 3 {
            0 => Self::Blue,
            1 => Self::Red,
            _ => Self::Yellow,
        }
    }

    /// What both become when they meet.
    #[must_use]
    pub fn meets(self, other: Self) -> Self {
        match (self, other) {
            (Self::Blue, Self::Red) | (Self::Red, Self::Blue) => Self::Yellow,
            (Self::Blue, Self::Yellow) | (Self::Yellow, Self::Blue) => Self::Red,
            (Self::Red, Self::Yellow) | (Self::Yellow, Self::Red) => Self::Blue,
            (same, _) => same,
        }
    }
}

/// Starts a plain thread, which no runtime knows; the receiver resolves to what it returns.
///
/// # Panics
/// When the system starts no more threads.
pub fn outside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> oneshot::Receiver<T> {
    let (tell, done) = oneshot::channel();
    thread::spawn(move || {
        // Nobody waits any more when this fails.
        let _ = tell.send(work());
    });
    done
}

/// Sends the program's result to whoever waits for it, if it was not sent before.
pub fn report<T>(done: &mut Option<oneshot::Sender<T>>, result: T) {
    if let Some(done) = done.take() {
        // Nobody waits any more when this fails.
        let _ = done.send(result);
    }
}

/// The memory that the process held at some time.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    bytes: u64,
}

impl Resident {
    /// What it holds now.
    ///
    /// # Panics
    /// Where the system has no `/proc`.
    #[must_use]
    pub fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").expect("the system has /proc");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Self { bytes: kibibytes.expect("the status has a VmRSS") * 1024 }
    }

    /// Says on stderr how much each of `actors` added since then.
    pub fn tell_bytes_each(self, actors: u64) {
        let growth = Self::now().bytes.saturating_sub(self.bytes);
        // Not down: a goal is not reached by what is cut off.
        eprintln!("bytes-each {}", growth.div_ceil(actors.max(1)));
    }
}
