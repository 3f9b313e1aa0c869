//! The table of the programs: what one operation is, how many a measurement has, and the goal.

/// What an actor of `idle_million` keeps for itself: a number.
pub const STATE_BYTES: f64 = 8.0;

/// A program of the contest, which every contestant has in its own words.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name, the same for everybody.
    pub name: &'static str,
    /// How many operations a measurement has.
    pub n: u64,
    /// What one operation is.
    pub unit: &'static str,
    /// Our time has to be at most this much of the best peer's.
    pub goal: f64,
    /// Plain threads that are busy beside the workers.
    pub outside: usize,
    /// In a program with rows whose workers spin: the time of those that sleep has to be at most this much of tokio's.
    pub asleep_goal: Option<f64>,
    /// Where actors stay: how many bytes each may take at most beside its state of [`STATE_BYTES`].
    pub bytes_goal: Option<f64>,
    /// How many operations it has with about a hundred times the work, or as much of that as fits into memory, if it is
    /// measured with that, too.
    pub large: Option<u64>,
}

impl Row {
    /// The same program with about a hundred times the work.
    #[must_use]
    pub fn enlarged(self) -> Option<Self> {
        Some(Self { n: self.large?, ..self })
    }
}

const fn row(name: &'static str, n: u64, unit: &'static str, goal: f64) -> Row {
    Row { name, n, unit, goal, outside: 0, asleep_goal: None, bytes_goal: None, large: None }
}

/// A program of the Savina suite: faster than every peer is all that is asked of these.
const fn savina(name: &'static str, n: u64, large: u64, unit: &'static str) -> Row {
    Row { large: Some(large), ..row(name, n, unit, 1.0) }
}

/// Every program, in the order of the results.
pub const PROGRAMS: &[Row] = &[
    row("ping_pong", 100_000, "round trip", 0.4),
    row("counting", 1_000_000, "message", 0.5),
    row("ask", 100_000, "question and answer", 0.5),
    row("fan_in", 1_000_000, "message", 0.6),
    row("thread_ring", 200_000, "hop", 0.4),
    row("fork_join_throughput", 600_000, "message", 0.5),
    row("fork_join_create", 100_000, "actor", 0.4),
    row("big", 240_000, "ping and pong", 0.5),
    row("chameneos", 100_000, "meeting", 0.4),
    row("skynet", 1_000_000, "leaf", 0.5),
    Row {
        outside: 1,
        asleep_goal: Some(0.7),
        ..row("ask_outside", 20_000, "question and answer", 1.0)
    },
    Row { outside: 2, ..row("sends_outside", 1_000_000, "message", 0.6) },
    Row { bytes_goal: Some(256.0), ..row("idle_million", 1_000_000, "actor", 0.25) },
    savina("savina_concdict", 200_000, 20_000_000, "request and answer"),
    savina("savina_bndbuffer", 40_000, 4_000_000, "item"),
    savina("savina_philosopher", 200_000, 20_000_000, "meal"),
    savina("savina_barber", 5_000, 500_000, "haircut"),
    savina("savina_banking", 50_000, 5_000_000, "transfer"),
    savina("savina_fib", 150_049, 18_454_929, "call"),
    savina("savina_quicksort", 1_000_000, 100_000_000, "number"),
    savina("savina_recmatmul", 512, 32_768, "product of blocks"),
    savina("savina_nqueenk", 14_200, 2_279_184, "solution"),
    // All nodes live at once: of a hundred times as many, those of tokio and actix fit into few machines.
    savina("savina_uct", 200_000, 2_000_000, "node"),
    savina("savina_apsp", 10_800, 1_097_600, "round of a tile"),
];

#[cfg(test)]
mod tests {
    use super::PROGRAMS;
    use greenroom_peers::savina;

    #[test]
    fn savinas_programs_have_a_hundred_times_the_work_as_nearly_as_they_can() {
        let savina = PROGRAMS.iter().filter(|row| row.name.starts_with("savina_"));
        let enlarged: Vec<_> = savina.map(|row| (row.n, row.enlarged().expect("a size"))).collect();
        assert_eq!(enlarged.len(), 11);
        for (n, large) in enlarged {
            let times = if large.name == "savina_uct" { 10..=10 } else { 60..=165 };
            assert!(times.contains(&(large.n / n)), "{}", large.name);
        }
    }

    #[test]
    fn a_size_is_what_a_program_does() {
        for row in PROGRAMS.iter().flat_map(|row| [Some(*row), row.enlarged()]).flatten() {
            let done = savina::operations(row.name, row.n);
            // A tree has a root and ten children at a time.
            assert!(row.n - done < 10, "{}: {done} of {}", row.name, row.n);
        }
    }
}
