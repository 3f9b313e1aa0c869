//! Whether a run repeats, and where it does not.

use super::choice::Traced;
use std::fmt;

/// How two runs that should be the same part.
#[derive(Clone, Debug)]
pub(super) enum Parting {
    At {
        /// How many lines of the trace they share.
        shared: usize,
        /// The next line of each, unless its trace ends there.
        next: [Option<Traced>; 2],
    },
    /// The first run went its own way, and all others the same one.
    First,
    /// Both went the same way, and the second failed so.
    Failed(String),
}

impl Parting {
    /// The first line that is not the same in both traces.
    pub(super) fn of(first: &[Traced], second: &[Traced]) -> Option<Self> {
        let shared = first.iter().zip(second).take_while(|(one, other)| one == other).count();
        let next = [first, second].map(|trace| trace.get(shared).copied());
        next.iter().any(Option::is_some).then_some(Self::At { shared, next })
    }
}

impl fmt::Display for Parting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shared, next) = match self {
            Self::At { shared, next } => (shared, next),
            Self::First => {
                return f.write_str(
                    "the first run of these choices went another way than the next ones, which agree: \
                     something outlives a world, such as a static",
                );
            }
            Self::Failed(failure) => {
                return write!(
                    f,
                    "the second run of these choices has the same trace, and failed: {failure}"
                );
            }
        };
        let [one, other] = next.map(|line| match line {
            Some(line) => format!("\"{line}\""),
            None => "the end".to_owned(),
        });
        let line = shared + 1;
        write!(
            f,
            "two runs of the same choices part at line {line} of the trace: {one}, then {other}"
        )
    }
}

#[cfg(test)]
mod tests;
