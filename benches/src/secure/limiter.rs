//! What it takes to say whether a source may go on.

use super::{Runner, interleave};
use crate::rows::Row;
use crate::table::{Table, time, verdict};
use greenroom_transports::secure::limit::{Bucket, Prefixes, Rate};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

const DECISIONS: u32 = 1_000_000;
/// What a decision may take at most.
const GOAL_NS: f64 = 5.0;

/// Between two decisions, in nanoseconds. One bucket allows all of them that are a millisecond apart, and refuses all but one of a
/// thousand that are a microsecond apart, which is what each of two thousand prefixes allows.
const MILLISECOND: u64 = 1_000_000;
const MICROSECOND: u64 = 1_000;

/// The time of `n` decisions, so many nanoseconds apart, of which so many are to allow.
fn timed(
    n: u32,
    apart: u64,
    allowed: RangeInclusive<usize>,
    mut decide: impl FnMut(u32, u64) -> bool,
) -> Duration {
    let clock = Instant::now();
    let count = (0..n).filter(|&number| decide(number, u64::from(number) * apart)).count();
    let took = clock.elapsed();
    assert!(allowed.contains(&count), "{count} of {n} were allowed, which is not {allowed:?}");
    took
}

fn source(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0000 | (number % 2_000)))
}

/// Measures them.
pub(super) fn table(rounds: usize, rows: &mut Vec<Row>) -> Table {
    eprintln!("secure: limiter");
    let rate = Rate::per_second(1_000, 100);
    let bucket = move |n: u32, apart, allowed| {
        let mut bucket = Bucket::default();
        timed(n, apart, allowed, move |_, now| bucket.take(black_box(&rate), now, 1))
    };
    let allows = move |n: u32| bucket(n, MILLISECOND, n as usize..=n as usize);
    let refuses = move |n: u32| bucket(n, MICROSECOND, 1..=n as usize / 10);
    let prefixes = move |n: u32| {
        let mut prefixes = Prefixes::new(rate, 1024, 7);
        let decide = move |number, now| prefixes.take(black_box(source(number)), now);
        timed(n, MICROSECOND, n as usize..=n as usize, decide)
    };
    let mut runners = [
        Runner::new("limiter", "a bucket that allows", DECISIONS, allows),
        Runner::new("limiter", "a bucket that refuses", DECISIONS, refuses),
        Runner::new("limiter", "by prefix of the source, all allowed", DECISIONS, prefixes),
        Runner::new("limiter", "a bucket that allows (again)", DECISIONS, allows),
    ];
    interleave(rounds, &mut runners);
    let mut table = Table::new(&["which", "a decision", "goal"]);
    for runner in runners {
        let who = runner.who;
        let nanos = runner.finish(rows);
        let goal = format!("{}: {}", time(GOAL_NS), verdict(nanos, GOAL_NS));
        table.row([who.to_owned(), time(nanos), goal]);
    }
    table
}
