//! Fibonacci numbers the long way: an actor for every call.

/// The number at `index`, by the short way.
#[must_use]
pub fn number(index: u64) -> u64 {
    let (mut this, mut next) = (0, 1);
    for _ in 0..index {
        (this, next) = (next, this + next);
    }
    this
}

/// How many calls it takes when those up to 2 answer at once.
#[must_use]
pub fn calls(index: u64) -> u64 {
    2 * number(index) - 1
}

/// The largest index that takes at most `n` calls.
#[must_use]
pub fn index(n: u64) -> u64 {
    (1..90).take_while(|&index| calls(index) <= n.max(1)).last().unwrap_or(1)
}
