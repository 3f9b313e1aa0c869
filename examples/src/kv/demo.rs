//! `--demo`: the server under a mixed load from clients of its own, over real TCP.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use resp_rs::resp2::{Frame, Parser};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Clients at work at the same time.
const CLIENTS: u64 = 32;
/// How long they work.
const TIME: Duration = Duration::from_secs(4);
/// Keys of each type.
const KEYS: u64 = 10_000;
/// Longest latency told apart, in nanoseconds.
const LATENCY_NS_MAX: u64 = 10_000_000_000;

/// What the load came to.
#[derive(Debug)]
pub(crate) struct Report {
    requests: u64,
    errors: u64,
    time: Duration,
    latency_ns: Histogram<u64>,
}

/// Drives the server at `address` and returns the figures.
pub(crate) async fn drive(address: SocketAddr) -> io::Result<Report> {
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(work(address, number, begun + TIME));
    }
    let mut report = Report { requests: 0, errors: 0, time: TIME, latency_ns: histogram()? };
    while let Some(client) = clients.join_next().await {
        let part = client.map_err(io::Error::other)??;
        report.requests += part.requests;
        report.errors += part.errors;
        report.latency_ns.add(&part.latency_ns).map_err(io::Error::other)?;
    }
    report.time = begun.elapsed();
    Ok(report)
}

fn histogram() -> io::Result<Histogram<u64>> {
    Histogram::new_with_max(LATENCY_NS_MAX, 3).map_err(io::Error::other)
}

/// One client: asks, waits for the answer, asks again.
async fn work(address: SocketAddr, number: u64, end: Instant) -> io::Result<Report> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut parser, mut buffer) = (Parser::new(), vec![0; 1 << 16]);
    let mut report = Report { requests: 0, errors: 0, time: TIME, latency_ns: histogram()? };
    let mut random = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    loop {
        let asked = Instant::now();
        if asked >= end {
            return Ok(report);
        }
        stream.write_all(request(&mut random).as_bytes()).await?;
        let reply = loop {
            if let Some(reply) = parser.next_frame().map_err(io::Error::other)? {
                break reply;
            }
            let count = stream.read(&mut buffer).await?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            parser.feed(Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default()));
        };
        let taken = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(LATENCY_NS_MAX);
        report.latency_ns.saturating_record(taken);
        report.requests += 1;
        report.errors += u64::from(matches!(reply, Frame::Error(_)));
    }
}

/// Returns the next command: half reads, half writes, of every type.
fn request(random: &mut u64) -> String {
    // xorshift64: the same load at every run.
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let (kind, key) = (*random >> 32 & 15, *random % KEYS);
    match kind {
        0..=4 => format!("GET key:{key}\r\n"),
        5..=8 => format!("SET key:{key} value-of-{key}\r\n"),
        9 => format!("INCR counter:{key}\r\n"),
        10 => format!("MGET key:{key} key:{} key:{}\r\n", key / 2, key / 3),
        11 => format!("RPUSH list:{} {key}\r\n", key % 100),
        12 => format!("LPOP list:{}\r\n", key % 100),
        13 => format!("HSET hash:{} field:{key} {key}\r\n", key % 100),
        14 => format!("HGET hash:{} field:{key}\r\n", key % 100),
        _ => format!("SADD set:{} {key}\r\n", key % 100),
    }
}

impl Report {
    /// Returns whether every request was answered without an error.
    pub(crate) fn is_clean(&self) -> bool {
        self.errors == 0 && self.requests > 0
    }

    /// Returns the figures as text.
    pub(crate) fn text(&self) -> String {
        let (requests, errors) = (self.requests, self.errors);
        let seconds = self.time.as_secs_f64();
        let per_second = requests as f64 / seconds;
        let mut text = format!(
            "{requests} requests from {CLIENTS} clients in {seconds:.1} s, {errors} errors\n\
             throughput  {per_second:>10.0} requests/s\n"
        );
        for percent in [50.0, 90.0, 99.0, 99.9, 99.99] {
            let latency = self.latency_ns.value_at_percentile(percent) as f64 / 1000.0;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "p{percent:<10} {latency:>10.1} µs");
        }
        let _ = writeln!(text, "max         {:>10.1} µs", self.latency_ns.max() as f64 / 1000.0);
        text
    }
}
