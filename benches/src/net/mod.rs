//! Messages between two processes of this machine, greenroom's nodes beside what else carries messages.

pub(crate) mod ours;

use crate::child;
use crate::far;
use crate::results::Section;
use crate::rows::{AGAIN, Row};
use crate::stats::{least, median, most, quantile};
use crate::table::{Table, goal, time};
use greenroom::Idle;
use greenroom_peers::wire::{
    Cipher, FAR_MTU, Failure, NEAR_MTU, Times, Use, Work, quic, raw, s2n, stream,
};
use std::env;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// No client takes so long.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Greenroom as it is built without settings, and with workers that look for work before they sleep.
pub(crate) const PARKED: &str = "greenroom";
const SPINNING: &str = "greenroom-spinning";
/// As the first, of messages that are plain structs.
const PLAIN: &str = "greenroom-plain";
/// How long those look: longer than any answer takes.
const SPIN: Duration = Duration::from_millis(1);

/// Everybody, each by its name on the command line; greenroom first.
const KINDS: [&str; 15] = [
    PARKED,
    SPINNING,
    PLAIN,
    "raw-udp",
    "tcp",
    "tls",
    "tls-chacha",
    "quinn-streams",
    "quinn-datagrams",
    "quinn-framed",
    "quinn-chacha",
    "s2n-streams",
    "s2n-datagrams",
    "s2n-framed",
    "ractor-cluster",
];

/// How many messages a client sends.
const fn count(work: Work) -> usize {
    match work {
        Work::Ask => 10_000,
        Work::Tell => 300_000,
        Work::Bulk => 3_000,
    }
}

/// Whether that kind does that work, and is worth a row.
fn does(kind: &str, work: Work) -> bool {
    match work {
        _ if kind == PLAIN || kind.ends_with("-framed") => work == Work::Tell,
        Work::Ask => !kind.ends_with("-datagrams"),
        Work::Tell => kind != "raw-udp" && kind != "quinn-chacha",
        Work::Bulk => kind != "raw-udp" && !kind.ends_with("-datagrams"),
    }
}

/// In which work of whose time greenroom's may be how much at most.
const GOALS: [(Work, &str, f64); 7] = [
    (Work::Ask, "quinn-streams", 0.5),
    (Work::Ask, "tcp", 1.0),
    (Work::Ask, "raw-udp", 1.35),
    (Work::Tell, "quinn-streams", 0.2),
    (Work::Tell, "quinn-datagrams", 0.5),
    (Work::Tell, "tls", 1.0),
    (Work::Bulk, "quinn-chacha", 1.0),
];

/// What greenroom's worker of that kind does when it has nothing to run.
pub(crate) fn idle(kind: &str) -> Idle {
    if kind == SPINNING { Idle::Spin(SPIN) } else { Idle::Park }
}

/// What that kind uses of QUIC.
fn quic_use(kind: &str) -> Use {
    match kind.rsplit_once('-') {
        Some((_, "datagrams")) => Use::Datagrams,
        Some((_, "framed")) => Use::Framed,
        _ => Use::Streams,
    }
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| error.to_string())
}

/// Serves as that kind until it is killed; says on the standard output where.
///
/// # Errors
/// A sentence for the user.
pub fn serve(kind: &str) -> Result<String, String> {
    let ready = |at: String| {
        let mut out = std::io::stdout();
        // Nobody listens any more: then nobody will connect either.
        let _ = writeln!(out, "{at}").and_then(|()| out.flush());
    };
    let served: Result<(), Failure> = runtime()?.block_on(async {
        match kind {
            PARKED | SPINNING | PLAIN => ours::serve(idle(kind), ready).await,
            "raw-udp" => raw::serve(ready).await,
            "tcp" => stream::serve(None, ready).await,
            "tls" => stream::serve(Some(Cipher::Aes), ready).await,
            "tls-chacha" => stream::serve(Some(Cipher::ChaCha), ready).await,
            "quinn-streams" | "quinn-datagrams" | "quinn-framed" => {
                quic::serve(Cipher::Aes, quic_use(kind), NEAR_MTU, ready).await
            }
            "quinn-chacha" => quic::serve(Cipher::ChaCha, Use::Streams, NEAR_MTU, ready).await,
            "s2n-streams" | "s2n-datagrams" | "s2n-framed" => {
                s2n::serve(quic_use(kind), NEAR_MTU, ready).await
            }
            far::QUINN => quic::serve(Cipher::Aes, Use::Streams, FAR_MTU, ready).await,
            far::S2N => s2n::serve(Use::Streams, FAR_MTU, ready).await,
            "ractor-cluster" => greenroom_peers_cluster::serve(ready).await,
            _ => Err(format!("nobody is called {kind}").into()),
        }
    });
    served.map(|()| String::new()).map_err(|error| error.to_string())
}

/// Does the work as that kind with the server there; returns median and 99th percentile of a question, or the time
/// of one message.
///
/// # Errors
/// A sentence for the user.
pub fn client(kind: &str, at: &str, work: &str) -> Result<String, String> {
    let work: Work = work.parse()?;
    let count = count(work);
    let times: Result<Times, Failure> = runtime()?.block_on(async {
        match kind {
            PARKED | SPINNING | PLAIN => ours::client(kind, at, work, count).await,
            "raw-udp" => raw::client(at, work, count).await,
            "tcp" => stream::client(at, None, work, count).await,
            "tls" => stream::client(at, Some(Cipher::Aes), work, count).await,
            "tls-chacha" => stream::client(at, Some(Cipher::ChaCha), work, count).await,
            "quinn-streams" | "quinn-datagrams" | "quinn-framed" => {
                quic::client(at, Cipher::Aes, quic_use(kind), work, count).await
            }
            "quinn-chacha" => quic::client(at, Cipher::ChaCha, Use::Streams, work, count).await,
            "s2n-streams" | "s2n-datagrams" | "s2n-framed" => {
                s2n::client(at, quic_use(kind), work, count).await
            }
            "ractor-cluster" => greenroom_peers_cluster::client(at, work, count).await,
            _ => Err(format!("nobody is called {kind}").into()),
        }
    });
    let Times(times) = times.map_err(|error| error.to_string())?;
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    Ok(match work {
        Work::Ask => format!("{} {}", median(&times), quantile(&times, 0.99)),
        Work::Tell | Work::Bulk => format!("{}", times[0] / count as f64),
    })
}

/// A process that serves as one kind, and is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    /// Where it is, as it says itself.
    pub(crate) at: String,
}

impl Server {
    /// # Errors
    /// A sentence for the user.
    pub(crate) fn start(kind: &str) -> Result<Self, String> {
        let explain = |error: std::io::Error| format!("{kind}: {error}");
        let program = env::current_exe().map_err(explain)?;
        let mut command = Command::new(program);
        let mut process =
            command.args(["serve", kind]).stdout(Stdio::piped()).spawn().map_err(explain)?;
        let out = process.stdout.take().ok_or("the server says nothing")?;
        let mut server = Self { process, at: String::new() };
        BufReader::new(out).read_line(&mut server.at).map_err(explain)?;
        server.at.truncate(server.at.trim_end().len());
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has gone already, which whoever asked it has noticed.
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// The figures that this program prints, run with those arguments.
///
/// # Errors
/// A sentence for the user.
pub(crate) fn figures(arguments: &[&str]) -> Result<Vec<f64>, String> {
    let explain = |error: std::io::Error| format!("{}: {error}", arguments.join(" "));
    let program = env::current_exe().map_err(explain)?;
    let output = child::output(Command::new(program).args(arguments), LIMIT).map_err(explain)?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("{}: {error}", arguments.join(" ")));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace()
        .map(|number| number.parse().map_err(|_| format!("{arguments:?} printed {text:?}")))
        .collect()
}

/// One measurement: a server and a client of that kind, each a process.
fn measure(kind: &str, work: Work) -> Result<Vec<f64>, String> {
    let server = Server::start(kind)?;
    figures(&["client", kind, &server.at, &work.to_string()])
}

/// The rounds of one kind of work: for each who does it, its figures.
type Figures = Vec<(&'static str, Vec<Vec<f64>>)>;

fn rounds(work: Work, rounds: usize) -> Result<Figures, String> {
    let mut figures: Figures =
        KINDS.iter().filter(|kind| does(kind, work)).map(|kind| (*kind, Vec::new())).collect();
    // Greenroom once more: what differs between equals is what the machine adds.
    figures.push((KINDS[0], Vec::new()));
    for _ in 0..rounds {
        for (kind, all) in &mut figures {
            all.push(measure(kind, work)?);
        }
    }
    Ok(figures)
}

/// Measures all of it.
///
/// # Errors
/// A sentence for the user.
pub fn section(names: &[&str], count: usize) -> Result<Section, String> {
    let mut text = format!(
        "Two processes on loopback, one thread each, medians of {count} interleaved rounds (least to most). 64 bytes a \
         message, 64 KiB for bulk. The last row of each table is greenroom again. Ratios are greenroom's time over \
         the row's, once as it is built without settings and once with `Idle::Spin` on both sides. TLS and QUIC are AES-128-GCM with the processor's help, but where `chacha` stands, \
         which is greenroom's cipher; QUIC's datagrams may be lost, and those that arrive count; `-streams` has a stream for each message, and `-framed` one for all, \
         with frames as over TCP. \
         `greenroom-plain` tells the 64 bytes as a plain struct by the codec `Zerocopy`, the other two as a `Vec<u8>`, which \
         either end allocates. `ractor-cluster` is actors on two nodes, which is not encrypted.\n",
    );
    let mut rows = Vec::new();
    for work in Work::ALL {
        if !names.is_empty() && !names.contains(&work.to_string().as_str()) {
            continue;
        }
        let figures = rounds(work, count)?;
        // The first two of the list.
        let ours = [0, 1].map(|at: usize| median(&column(0, &figures[at].1)));
        let _ = write!(text, "\n### {work}\n\n");
        let (each, second) =
            if work == Work::Ask { ("median", "p99") } else { ("a message", "messages/s") };
        let mut table =
            Table::new(&["who", each, second, "least to most", "ratio", "ratio, spinning"]);
        for (kind, all) in &figures {
            let times = column(0, all);
            let middle = median(&times);
            let second = match work {
                Work::Ask => time(median(&column(1, all))),
                Work::Tell | Work::Bulk => format!("{:.0}", 1e9 / middle),
            };
            let spread = format!("{} to {}", time(least(&times)), time(most(&times)));
            let [parked, spinning] = ours.map(|own| format!("{:.2}", own / middle));
            table.row([(*kind).to_owned(), time(middle), second, spread, parked, spinning]);
        }
        let _ = writeln!(text, "{table}");
        text += &verdicts(work, &figures);
        rows.extend(rows_of(work, &figures));
    }
    Ok(Section::new("Between processes", text).with_rows(rows))
}

/// What of that name is not a way to use it.
pub(crate) fn library(kind: &str) -> &str {
    match kind.split_once('-') {
        Some((library @ (PARKED | "quinn" | "s2n"), _)) => library,
        _ => kind,
    }
}

/// Each measurement; the last of the list is the first once more.
fn rows_of(work: Work, figures: &Figures) -> Vec<Row> {
    let row = |at: usize, kind: &str, round: usize, found: &[f64]| {
        let again = if at + 1 == figures.len() { AGAIN } else { "" };
        let first = found.first().copied();
        let is_ask = work == Work::Ask;
        Row {
            library: library(kind).to_owned(),
            round: i64::try_from(round).ok(),
            n: i64::try_from(count(work)).ok(),
            ns_per_op: first.filter(|_| !is_ask),
            p50_ns: first.filter(|_| is_ask),
            p99_ns: found.get(1).copied().filter(|_| is_ask),
            ..Row::here(&format!("net {work}"), &format!("{kind}{again}"))
        }
    };
    let all = figures.iter().enumerate();
    all.flat_map(|(at, (kind, rounds))| {
        rounds.iter().enumerate().map(move |(round, found)| row(at, kind, round, found))
    })
    .collect()
}

/// One figure of each round.
fn column(at: usize, all: &[Vec<f64>]) -> Vec<f64> {
    all.iter().filter_map(|round| round.get(at).copied()).collect()
}

/// The goals of that work, and what came of them; those of questions are for the 99th percentile as well.
fn verdicts(work: Work, figures: &Figures) -> String {
    let columns: &[(usize, &str)] = match work {
        Work::Ask => &[(0, ""), (1, ", 99th percentile")],
        Work::Tell | Work::Bulk => &[(0, "")],
    };
    let of = |kind: &str, at: usize| {
        let all = figures.iter().find(|(known, _)| *known == kind);
        all.map_or(f64::NAN, |(_, all)| median(&column(at, all)))
    };
    let mut text = String::new();
    for (_, over, most) in GOALS.iter().filter(|(known, ..)| *known == work) {
        for (at, what) in columns {
            for who in [PARKED, SPINNING] {
                let ratio = of(who, *at) / of(over, *at);
                let _ = writeln!(text, "- {who} over {over}{what}: {}", goal(ratio, *most));
            }
        }
    }
    text
}
