//! What encryption costs: the cipher beside the libraries that it comes from, handshakes, associations that have nothing
//! to say, decisions of the limiter, and a flood of handshakes.

mod cipher;
mod flood;
mod handshake;
mod idle;
mod limiter;

use crate::results::Section;
use crate::rows::{AGAIN, Row};
use crate::stats;
use std::time::Duration;

/// What has its time taken, again and again.
struct Runner {
    program: String,
    who: &'static str,
    /// Operations of one measurement.
    n: u32,
    run: Box<dyn FnMut(u32) -> Duration>,
    nanos: Vec<f64>,
}

impl Runner {
    fn new(
        program: impl Into<String>,
        who: &'static str,
        n: u32,
        run: impl FnMut(u32) -> Duration + 'static,
    ) -> Self {
        // A test is to see that it runs.
        let n = if cfg!(test) { n.div_ceil(100) } else { n };
        Self { program: program.into(), who, n, run: Box::new(run), nanos: Vec::new() }
    }

    /// Its measurements, and the median time of an operation in nanoseconds.
    fn finish(self, rows: &mut Vec<Row>) -> f64 {
        let (library, which) = if cipher::PEERS.contains(&self.who) {
            (self.who, "")
        } else {
            ("greenroom", self.who.trim_end_matches(AGAIN))
        };
        for (round, &nanos) in self.nanos.iter().enumerate() {
            rows.push(Row {
                library: library.to_owned(),
                scheduler: which.to_owned(),
                round: i64::try_from(round).ok(),
                n: Some(i64::from(self.n)),
                ns_per_op: Some(nanos),
                ..Row::here(&self.program, self.who)
            });
        }
        stats::median(&self.nanos)
    }
}

/// Runs all of them in turns, so many rounds, after one that does not count.
fn interleave(rounds: usize, runners: &mut [Runner]) {
    for round in 0..=rounds {
        for runner in &mut *runners {
            let nanos = (runner.run)(runner.n).as_secs_f64() * 1e9 / f64::from(runner.n);
            if round > 0 {
                runner.nanos.push(nanos);
            }
        }
    }
}

/// Measures all of it.
///
/// # Errors
/// When two nodes do not find each other.
pub fn section(rounds: usize) -> Result<Section, String> {
    let mut rows = Vec::new();
    // First, while nothing else has grown the memory.
    let idle = idle::table()?;
    let ciphers = cipher::table(rounds, &mut rows);
    let handshakes = handshake::table(rounds, &mut rows)?;
    let limiter = limiter::table(rounds, &mut rows);
    let flood = flood::table(rounds, flood::MESSAGES, &mut rows)?;
    let text = format!(
        "One thread, medians of {rounds} interleaved rounds.\n\n\
         ### seal and open\n\n\
         ChaCha20-Poly1305 over a header of 16 bytes and the text, in place. `greenroom` is a data packet by the cipher of the \
         feature `ring`, its number and its header included, the others seal and open a text alone, `greenroom-rust` by the \
         cipher without that feature. Opening copies the sealed text first, for all alike. Ratios are over `ring`, those of the \
         two in pure Rust over `chacha20poly1305`.\n\n{ciphers}\n\
         ### handshakes\n\n\
         Both sides of a whole exchange of keys between nodes that have an association, in one thread.\n\n{handshakes}\n\
         ### associations with nothing to say\n\n{idle}\n\
         ### a decision of the limiter\n\n\
         {limiter}\n\
         ### messages beside a flood of handshakes\n\n\
         Messages of 64 bytes from one node to another in this process, over loopback, with 20,000 first messages a second from 250 \
         other addresses: of four, one is not meant for the node, one has a wrong cookie, and two have none. The thread that \
         sends them takes time of the same cores, as the flood of a socket shows that nobody reads.\n\n{flood}",
    );
    Ok(Section::new("Encryption", text).with_rows(rows))
}

#[cfg(test)]
mod tests {
    use super::{cipher, flood, handshake, idle, limiter};

    #[test]
    fn everything_can_be_measured() {
        let mut rows = Vec::new();
        let tables = [
            cipher::table(1, &mut rows),
            handshake::table(1, &mut rows).expect("they meet"),
            limiter::table(1, &mut rows),
            flood::table(1, 10_000, &mut rows).expect("they meet"),
            idle::table_of(3).expect("they meet"),
        ];
        for table in tables {
            assert!(table.to_string().lines().count() > 2, "{table}");
        }
        let idle = idle::table_of(3).expect("they meet").to_string();
        assert!(!idle.contains("| 0.00 |"), "{idle}");
        assert!(rows.iter().all(|row| row.ns_per_op.is_some_and(|nanos| nanos > 0.0)));
        let of = |who: &str| {
            let row = rows.iter().find(|row| row.who == who).expect("it was measured");
            (row.library.as_str(), row.scheduler.as_str())
        };
        assert_eq!(of("greenroom-rust"), ("greenroom", "greenroom-rust"));
        assert_eq!(of("classic (again)"), ("greenroom", "classic"));
        let others = ["ring", "chacha20poly1305", "aws-lc-rs"];
        assert_eq!(others.map(of), others.map(|other| (other, "")), "they are not ours");
    }
}
