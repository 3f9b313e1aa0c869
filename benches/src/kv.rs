//! The kv server against `redis-server`, both driven by `redis-benchmark`, in turns.

use crate::results::Section;
use crate::rows::{OURS, Row};
use crate::table::goal;
use crate::{beside, child, stats};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Pipeline depth, and how many requests a measurement then has.
const DEPTHS: [(u32, u32); 2] = [(1, 100_000), (16, 400_000)];
const TESTS: &str = "set,get,incr,lpush,mset";
/// How the server is built.
const BUILD: &str = "cargo build --release --bin kv";
const CLIENTS: &str = "50";
/// How many requests a second kv is to answer at least, and how long its 99th percentile may be, both of Redis's.
const RATE_MIN: f64 = 1.0;
const P99_MAX: f64 = 1.2;
/// How long one run of every test may take.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a server may take until it listens.
const STARTING_MAX: Duration = Duration::from_secs(10);

/// A server process, which ends with its owner.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts `command`, which has to listen at `address` soon.
    fn start(command: &mut Command, address: SocketAddr) -> io::Result<Self> {
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut server = Self { process, address };
        let clock = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = server.process.try_wait()? {
                return Err(io::Error::other(format!("the server ended: {status}")));
            }
            if clock.elapsed() > STARTING_MAX {
                return Err(io::Error::other("the server does not listen"));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn redis() -> Result<Self, String> {
        let address = free_address().map_err(|error| error.to_string())?;
        let mut command = Command::new("redis-server");
        command.args(["--port", &address.port().to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]);
        Self::start(&mut command, address).map_err(|error| missing(&error, "redis-server"))
    }

    fn greenroom() -> Result<Self, String> {
        let address = free_address().map_err(|error| error.to_string())?;
        let mut command = Command::new(beside::program("kv", BUILD)?);
        command.args(["--listen", &address.to_string(), "--workers", "2"]);
        Self::start(&mut command, address).map_err(|error| format!("kv: {error}"))
    }

    /// One run of every test: its name, requests per second, 99th percentile in milliseconds.
    fn measure(&self, depth: u32, requests: u32) -> Result<Vec<(String, f64, f64)>, String> {
        let port = self.address.port().to_string();
        let flushed = Command::new("redis-cli").args(["-p", &port, "flushall"]).output();
        flushed.map_err(|error| missing(&error, "redis-tools"))?;
        let mut command = Command::new("redis-benchmark");
        command.args(["-p", &port, "-t", TESTS, "-c", CLIENTS, "--csv"]);
        command.args(["-n", &requests.to_string(), "-P", &depth.to_string()]);
        // It tries for ever to reach a server that is gone.
        let output = child::output(&mut command, LIMIT);
        let output = output.map_err(|error| missing(&error, "redis-tools"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rows: Vec<_> = text.lines().filter_map(parse).collect();
        if rows.len() == TESTS.split(',').count() {
            Ok(rows)
        } else {
            let why = String::from_utf8_lossy(&output.stderr);
            Err(format!("redis-benchmark did not finish: {text}{why}"))
        }
    }
}

/// An address that was free a moment ago.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr()
}

fn missing(error: &io::Error, package: &str) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("needs the package {package}"),
        _ => format!("{package}: {error}"),
    }
}

/// A line of `redis-benchmark --csv`: test, rps, then latencies of which the 99th percentile is the
/// last but one.
fn parse(line: &str) -> Option<(String, f64, f64)> {
    let cells: Vec<&str> = line.split(',').map(|cell| cell.trim_matches('"')).collect();
    let [test, rps, .., p99, _most] = cells[..] else { return None };
    let test = test.split_whitespace().next()?;
    Some((test.to_owned(), rps.parse().ok()?, p99.parse().ok()?))
}

/// What each of three servers reached in a test: Redis, kv, Redis again as the control.
type Figures = BTreeMap<String, [(Vec<f64>, Vec<f64>); 3]>;

/// Measures both servers in turns.
///
/// # Errors
/// Names the package or program that is missing, or says what went wrong.
pub fn section(rounds: usize) -> Result<Section, String> {
    let mut text = format!(
        "`redis-benchmark -t {TESTS} -c {CLIENTS}` on the same machine, kv with 2 workers; medians of \
         {rounds} rounds in turns. Ratios are kv over Redis; the control is Redis over itself.\n",
    );
    let servers = [Server::redis()?, Server::greenroom()?];
    let mut rows = Vec::new();
    for (depth, requests) in DEPTHS {
        let mut figures = Figures::new();
        for round in 0..rounds {
            eprintln!("kv: -P {depth}, round {} of {rounds}", round + 1);
            for (column, server) in [&servers[0], &servers[1], &servers[0]].iter().enumerate() {
                for (test, rps, p99) in server.measure(depth, requests)? {
                    rows.push(row(column, (depth, requests), round, &(&test, rps, p99)));
                    let cell = &mut figures.entry(test).or_default()[column];
                    cell.0.push(rps);
                    cell.1.push(p99);
                }
            }
        }
        text.push_str(&table(depth, requests, figures));
    }
    Ok(Section::new("kv", text).with_rows(rows))
}

/// A measurement of the server in that column.
fn row(
    column: usize,
    (depth, requests): (u32, u32),
    round: usize,
    (test, rps, p99_ms): &(&str, f64, f64),
) -> Row {
    let (library, who) = [("redis", "redis"), (OURS, "kv"), ("redis", "redis (again)")][column];
    Row {
        library: library.to_owned(),
        round: i64::try_from(round).ok(),
        n: Some(requests.into()),
        ns_per_op: Some(1e9 / rps),
        p99_ns: Some(p99_ms * 1e6),
        ..Row::here(&format!("kv -P {depth} {test}"), who)
    }
}

fn table(depth: u32, requests: u32, figures: Figures) -> String {
    let mut text = format!(
        "\n### -P {depth} -n {requests}\n\n\
         | test | Redis rps | kv rps | ratio | Redis p99 ms | kv p99 ms | ratio \
         | control rps, p99 |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (test, columns) in figures {
        let [redis, kv, again] =
            columns.map(|(rps, p99)| (stats::median(&rps), stats::median(&p99)));
        // Of requests in a second, as many at least.
        let rate = kv.0 / redis.0;
        let reached = if rate >= RATE_MIN { "reached" } else { "missed" };
        text.push_str(&format!(
            "| {test} | {:.0} | {:.0} | {rate:.2}, goal {RATE_MIN:.2}: {reached} | {:.3} | {:.3} | {} | {:.2}, {:.2} |\n",
            redis.0,
            kv.0,
            redis.1,
            kv.1,
            goal(kv.1 / redis.1, P99_MAX),
            again.0 / redis.0,
            again.1 / redis.1,
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_line_of_redis_benchmark_is_read() {
        let line =
            r#""MSET (10 keys)","127226.46","0.281","0.072","0.279","0.399","0.511","3.631""#;
        assert_eq!(parse(line), Some(("MSET".to_owned(), 127_226.46, 0.511)));
        assert_eq!(parse(r#""test","rps","avg","min","p50","p95","p99","max""#), None);
    }
}
