//! What it takes to say whether a source may go on.

use super::{Runner, interleave};
use crate::rows::Row;
use crate::table::{Table, time, verdict};
use greenroom_transports::secure::limit::{Bucket, Prefixes, Rate};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

const DECISIONS: u32 = 1_000_000;
/// What a decision may take at most.
const GOAL_NS: f64 = 5.0;

/// Between two decisions, in nanoseconds. One bucket allows all of them that are a millisecond apart, and refuses all but one of a
/// thousand that are a microsecond apart, which is what each of two thousand prefixes allows.
const MILLISECOND: u64 = 1_000_000;
const MICROSECOND: u64 = 1_000;

/// The time of `n` decisions, so many nanoseconds apart.
fn timed(n: u32, apart: u64, mut decide: impl FnMut(u32, u64) -> bool) -> Duration {
    let clock = Instant::now();
    let allowed = (0..n).filter(|&number| decide(number, u64::from(number) * apart)).count();
    let took = clock.elapsed();
    black_box(allowed);
    took
}

fn source(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0000 | (number % 2_000)))
}

/// Measures them.
pub(super) fn table(rounds: usize, rows: &mut Vec<Row>) -> Table {
    eprintln!("secure: limiter");
    let rate = Rate::per_second(1_000, 100);
    let bucket = move |n, apart| {
        let mut bucket = Bucket::default();
        timed(n, apart, move |_, now| bucket.take(black_box(&rate), now, 1))
    };
    let prefixes = move |n| {
        let mut prefixes = Prefixes::new(rate, 1024, 7);
        timed(n, MICROSECOND, move |number, now| prefixes.take(black_box(source(number)), now))
    };
    let mut runners = [
        Runner::new("limiter", "a bucket that allows", DECISIONS, move |n| bucket(n, MILLISECOND)),
        Runner::new("limiter", "a bucket that refuses", DECISIONS, move |n| bucket(n, MICROSECOND)),
        Runner::new("limiter", "by prefix of the source, all allowed", DECISIONS, prefixes),
        Runner::new("limiter", "a bucket that allows (again)", DECISIONS, move |n| {
            bucket(n, MILLISECOND)
        }),
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
