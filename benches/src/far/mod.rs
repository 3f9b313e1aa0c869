//! Small questions on a long path that loses datagrams, alone and beside large messages: greenroom's nodes beside QUIC.

mod ours;
mod relay;

use crate::net::{self, Server};
use crate::results::Section;
use crate::rows::{AGAIN, Row};
use crate::stats::{least, median, most, quantile};
use crate::table::{Table, time};
use greenroom_peers::wire::{ASKERS, Beside, FAR_MTU, FETCHED, Failure, SMALL, Times, quic, s2n};
use relay::{Path, Relay};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// QUIC in datagrams as long as the path takes.
pub(crate) const QUINN: &str = "quinn-far";
pub(crate) const S2N: &str = "s2n-far";

/// Who is measured; greenroom first, and once more at the end.
const KINDS: [&str; 4] = [net::PARKED, QUINN, S2N, net::PARKED];

/// How long a datagram is under way: half of a round trip.
const DELAY: Duration = Duration::from_millis(10);
/// How many of a hundred are lost.
const LOSS: u64 = 1;
/// How many questions each asker asks.
const QUESTIONS: usize = 250;

/// Bytes of questions that are too long for one datagram.
const SEVERAL: usize = 4 << 10;

/// What is measured.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    /// Bytes of a question.
    bytes: usize,
    /// How many of a hundred datagrams are lost.
    loss: u64,
    /// What is beside the questions.
    what: Beside,
}

const CASES: [Case; 6] = [
    case("64 bytes, alone, nothing is lost", SMALL, 0, Beside::Nothing),
    case("64 bytes, alone", SMALL, LOSS, Beside::Nothing),
    case("64 bytes, beside a flow of large messages", SMALL, LOSS, Beside::Flow),
    case("4 KiB, beside a flow of large messages", SEVERAL, LOSS, Beside::Flow),
    case("64 bytes, beside large answers", SMALL, LOSS, Beside::Fetch),
    case("4 KiB, beside large answers", SEVERAL, LOSS, Beside::Fetch),
];

const fn case(name: &'static str, bytes: usize, loss: u64, what: Beside) -> Case {
    Case { name, bytes, loss, what }
}

/// Asks as that kind at that address, with other work beside that; returns median, 95th and 99th percentile of a question.
///
/// # Errors
/// A sentence for the user.
pub fn client(kind: &str, at: &str, bytes: &str, what: &str) -> Result<String, String> {
    let what: Beside = what.parse()?;
    let bytes = bytes.parse().map_err(|_| format!("{bytes} bytes are none"))?;
    let times: Result<Times, Failure> = net::runtime()?.block_on(async {
        match kind {
            net::PARKED => ours::beside(at, QUESTIONS, bytes, what).await,
            QUINN => quic::beside(at, QUESTIONS, bytes, what).await,
            S2N => s2n::beside(at, QUESTIONS, bytes, what).await,
            _ => Err(format!("nobody is called {kind}").into()),
        }
    });
    let Times(times) = times.map_err(|error| error.to_string())?;
    Ok([0.5, 0.95, 0.99].map(|part| quantile(&times, part).to_string()).join(" "))
}

/// What one round has found, in nanoseconds, and how many bytes the path carried in a second, both ways together.
#[derive(Clone, Copy, Debug)]
struct Found {
    median: f64,
    p95: f64,
    p99: f64,
    bytes: f64,
}

/// One measurement: a server and a client of that kind, each a process, and a relay between them.
fn measure(kind: &str, case: Case, round: u64) -> Result<Found, String> {
    let explain = |error: std::io::Error| format!("{kind}: {error}");
    let Case { bytes, loss, what, .. } = case;
    let server = Server::start(kind)?;
    let (start, end) = address(&server.at).ok_or("the server does not say where it is")?;
    let there = server.at[start..end].parse().map_err(|_| format!("no address: {}", server.at))?;
    let path = Path { delay: DELAY, loss, mtu: FAR_MTU.into(), seed: round };
    let relay = Relay::start(there, path).map_err(explain)?;
    let at = format!("{}{}{}", &server.at[..start], relay.at, &server.at[end..]);
    let began = Instant::now();
    let figures = net::figures(&["beside", kind, &at, &bytes.to_string(), &what.to_string()])?;
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let bytes = relay.carried() as f64 / began.elapsed().as_secs_f64();
    match figures[..] {
        [median, p95, p99] => Ok(Found { median, p95, p99, bytes }),
        _ => Err(format!("{kind} printed {figures:?}")),
    }
}

/// Each measurement of who is at that place; the last is the first once more.
fn rows_of(case: Case, (at, kind): (usize, &str), found: &[Found]) -> Vec<Row> {
    let again = if at + 1 == KINDS.len() { AGAIN } else { "" };
    let row = |(round, found): (usize, &Found)| Row {
        library: net::library(kind).to_owned(),
        round: i64::try_from(round).ok(),
        n: i64::try_from(ASKERS * QUESTIONS).ok(),
        p50_ns: Some(found.median),
        p95_ns: Some(found.p95),
        p99_ns: Some(found.p99),
        bytes_per_second: Some(found.bytes),
        ..Row::here(&format!("far {}", case.name), &format!("{kind}{again}"))
    };
    found.iter().enumerate().map(row).collect()
}

/// Where in what a server says its address and port are.
fn address(at: &str) -> Option<(usize, usize)> {
    const HOST: &str = "127.0.0.1:";
    let start = at.find(HOST)?;
    let port = start + HOST.len();
    let length = at[port..].find(|digit: char| !digit.is_ascii_digit());
    Some((start, port + length.unwrap_or(at.len() - port)))
}

/// Measures all of it.
///
/// # Errors
/// A sentence for the user.
pub fn section(count: usize) -> Result<Section, String> {
    let mut text = format!(
        "Two processes with a relay between them: a round trip takes {} ms, datagrams of more than {FAR_MTU} bytes \
         do not come through, and of the others {LOSS} % is lost each way, but where nothing is. {ASKERS} askers at \
         the same time, each of which asks {QUESTIONS} questions, one after the other; the flow is of 64 KiB messages \
         as fast as they go, and large answers are of 64 KiB, too, {FETCHED} of them at a time. Medians of {count} \
         interleaved rounds (least to most of the 99th percentile), in each of which the same random numbers lose \
         everybody's datagrams. The rate is of what comes to server and client together, from the start of the \
         client's process. Greenroom takes the relay for its own machine, begins with long datagrams and has to find \
         out that they do not come through. Ratios are greenroom's 99th percentile over the row's. The last row of \
         each table is greenroom again. A question of which no datagram is lost is one of the 95 % even with {LOSS} % \
         of loss.\n",
        2 * DELAY.as_millis(),
    );
    let mut rows = Vec::new();
    for case in CASES {
        let mut figures = KINDS.map(|kind| (kind, Vec::new()));
        for round in 0..count {
            for (kind, all) in &mut figures {
                all.push(measure(kind, case, round as u64)?);
            }
        }
        let _ = writeln!(text, "\n### questions of {}\n\n{}", case.name, table(&figures));
        let all = figures.iter().enumerate();
        rows.extend(all.flat_map(|(at, (kind, found))| rows_of(case, (at, kind), found)));
    }
    Ok(Section::new("On a long path that loses", text).with_rows(rows))
}

fn table(figures: &[(&str, Vec<Found>)]) -> Table {
    let heads = ["who", "median", "p95", "p99", "least to most", "KiB/s", "ratio"];
    let mut table = Table::new(&heads);
    let column =
        |all: &[Found], of: fn(&Found) -> f64| -> Vec<f64> { all.iter().map(of).collect() };
    let ours = median(&column(&figures[0].1, |found| found.p99));
    for (kind, all) in figures {
        let p99 = column(all, |found| found.p99);
        let middle = |of| time(median(&column(all, of)));
        table.row([
            (*kind).to_owned(),
            middle(|found| found.median),
            middle(|found| found.p95),
            time(median(&p99)),
            format!("{} to {}", time(least(&p99)), time(most(&p99))),
            format!("{:.0}", median(&column(all, |found| found.bytes)) / 1024.0),
            format!("{:.2}", ours / median(&p99)),
        ]);
    }
    table
}
