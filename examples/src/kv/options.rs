//! The command line.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use lexopt::ValueExt;
use tokio::signal::unix::{SignalKind, signal};

use super::config::parse_bytes;
use super::demo;
use super::server::{Queue, SHARDS_MAX, Server, Settings, StartError};

const HELP: &str = "\
kv: a key-value server that speaks the Redis protocol, hosted by actors

Usage: kv [OPTIONS]

  --listen ADDR         address to listen on [127.0.0.1:6379]
  --workers N           worker threads [one per core]
  --scheduler NAME      auto, locked, lock_free, per_core or stealing [auto]
  --shards N            parts of the key space, each owned by an actor [as many as workers; with --node, 4]
  --node FILE           be one of several nodes, each with a part of the keys, all of which answer for all; FILE is
                        this node's, as `greenroom keygen` and the example in examples/kv help to write
  --dir DIR             keep the keys in DIR: every write is on disk before it is answered [in memory only]
  --max-memory BYTES    refuse writes above this much data, such as 256mb [no limit]
  --max-memory-clients BYTES
                        cut off who holds most when clients leave more than this unread or unfinished, all of them
                        together; 0: no limit [1gb]
  --max-clients N       refuse more clients [10000]
  --timeout SECONDS     close connections that are idle for so long [never]
  --demo                start on a free port, put a mixed load on it, print figures, exit; not with --dir or --node
  --help, --version     print this, or the version, and exit

The runtime's other settings are taken from the environment: GREENROOM_PINNED=true, GREENROOM_SLICE_US=200, ...
";

/// How long clients have to finish when the server is told to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long they have when it must end because a shard has: their other replies are on the way already.
const FAILED_TIMEOUT: Duration = Duration::from_secs(2);
/// File descriptors beside those of clients.
const SPARE_FILES: u64 = 64;

/// What the command line says.
#[derive(Clone, Debug)]
pub enum Options {
    /// Serve until a signal comes.
    Serve(Settings),
    /// Serve and drive itself for a while.
    Demo(Settings),
    /// Print a text.
    Print(String),
}

impl Options {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    ///
    /// A text for the user about an option that is unknown or has no good value.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, lexopt::Error> {
        use lexopt::Arg;
        let mut parser = lexopt::Parser::from_args(words);
        let mut settings = Settings::default();
        let mut demo = false;
        while let Some(argument) = parser.next()? {
            let option = match argument {
                Arg::Long(option) => option.to_owned(),
                Arg::Short('h') => "help".to_owned(),
                Arg::Short('V') => "version".to_owned(),
                Arg::Short(_) | Arg::Value(_) => return Err(argument.unexpected()),
            };
            let (parser, limits) = (&mut parser, &mut settings.limits);
            match option.as_str() {
                "listen" => settings.listen = value(parser, &option, address)?,
                "workers" => settings.workers = value(parser, &option, positive)?,
                "scheduler" => settings.queue = value(parser, &option, queue)?,
                "shards" => settings.shards = Some(value(parser, &option, shards)?),
                "node" => settings.node = Some(parser.value()?.into()),
                "dir" => settings.dir = Some(parser.value()?.into()),
                "max-memory" => limits.memory_bytes_max = Some(value(parser, &option, bytes)?),
                "max-memory-clients" => {
                    let max = value(parser, &option, bytes)?;
                    limits.clients_bytes_max = (max > 0).then_some(max);
                }
                "max-clients" => limits.clients_max = value(parser, &option, positive)?,
                "timeout" => {
                    let seconds = value(parser, &option, seconds)?;
                    limits.idle_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
                }
                "demo" => demo = true,
                "help" => return Ok(Self::Print(HELP.to_owned())),
                "version" => {
                    return Ok(Self::Print(format!("kv {}\n", env!("CARGO_PKG_VERSION"))));
                }
                unknown => return Err(Arg::Long(unknown).unexpected()),
            }
        }
        if demo {
            if settings.dir.is_some() || settings.node.is_some() {
                return Err("--demo writes keys of its own: it is not for --dir or --node".into());
            }
            settings.listen.set_port(0);
            return Ok(Self::Demo(settings));
        }
        Ok(Self::Serve(settings))
    }
}

/// The value of an option, which an error names.
fn value<T>(
    parser: &mut lexopt::Parser,
    option: &str,
    read: fn(&str) -> Result<T, String>,
) -> Result<T, lexopt::Error> {
    let value = parser.value()?.parse_with(read);
    value.map_err(|error| format!("--{option}: {error}").into())
}

/// Reads an address; a port alone means this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let text = text.replace("localhost", "127.0.0.1");
    text.parse()
        .map_err(|_| "an address is an IP address and a port, such as 127.0.0.1:6379".to_owned())
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&count| count > 0)
        .ok_or_else(|| "it must be a number above zero".to_owned())
}

fn shards(text: &str) -> Result<usize, String> {
    positive(text)
        .ok()
        .filter(|&count| count <= SHARDS_MAX)
        .ok_or_else(|| format!("it must be a number from 1 to {SHARDS_MAX}"))
}

fn queue(text: &str) -> Result<Queue, String> {
    let found = Queue::ALL.iter().find(|(_, name)| *name == text);
    found.map(|(queue, _)| *queue).ok_or_else(|| {
        let names = Queue::ALL.map(|(_, name)| name);
        format!("there are {}", names.join(", "))
    })
}

fn seconds(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it must be a number of seconds".to_owned())
}

fn bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| {
        "it must be a number of bytes, such as 1000000, 512kb, 256mb or 2gb".to_owned()
    })
}

/// Does what the command line says; the program's whole work.
///
/// # Errors
///
/// What cannot be written to the terminal.
pub fn run(words: impl IntoIterator<Item = OsString>) -> io::Result<ExitCode> {
    let options = match Options::parse(words) {
        Ok(options) => options,
        Err(error) => {
            writeln!(io::stderr(), "kv: {error}\nTry: kv --help")?;
            return Ok(ExitCode::from(2));
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match options {
        Options::Print(text) => io::stdout().write_all(text.as_bytes()).map(|()| ExitCode::SUCCESS),
        Options::Serve(settings) => runtime.block_on(serve(settings)),
        Options::Demo(settings) => runtime.block_on(demonstrate(settings)),
    }
}

async fn serve(settings: Settings) -> io::Result<ExitCode> {
    raise_file_limit(settings.limits.clients_max);
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let (workers, is_alone) = (settings.workers, settings.node.is_none());
    let mut server = match Server::start(settings).await {
        Ok(server) => server,
        Err(error) => {
            explain(&error)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let (address, shards) = (server.address(), server.shards());
    let port = address.port();
    say(format_args!(
        "kv listens on {address} with {workers} workers and {shards} shards. Try:\n\n  \
         redis-cli -p {port} set greeting hello\n  redis-cli -p {port} get greeting\n\n{}Ctrl-C ends it.",
        on_transactions(shards, is_alone)
    ));
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
        reason = server.failed() => {
            complain(format_args!("{reason}"));
            // It has failed already, and whether it also ended in time matters to nobody.
            let _ = server.shutdown(FAILED_TIMEOUT).await;
            return Ok(ExitCode::FAILURE);
        }
    }
    say(format_args!("\nkv finishes what its {} clients have asked ...", server.clients()));
    match server.shutdown(SHUTDOWN_TIMEOUT).await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            complain(format_args!("{error}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Says something of a server that runs: nobody may be listening, and its clients have nothing to do with that.
fn say(what: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{what}");
}

/// Says that something is wrong with a server that runs.
fn complain(what: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "kv: {what}");
}

/// Says what clients that were made for a single Redis will come upon, if it is so.
fn on_transactions(shards: usize, is_alone: bool) -> String {
    if shards == 1 && is_alone {
        return String::new();
    }
    let otherwise = if is_alone { ", or all with --shards 1" } else { "" };
    format!(
        "Transactions (MULTI, WATCH) work within a shard: on keys with the same {{tag}}{otherwise}.\n\n"
    )
}

/// Starts a server, has it serve a mixed load, and prints how that went.
async fn demonstrate(settings: Settings) -> io::Result<ExitCode> {
    let (workers, queue) = (settings.workers, settings.queue.name());
    let server = match Server::start(settings).await {
        Ok(server) => server,
        Err(error) => {
            explain(&error)?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let (address, shards) = (server.address(), server.shards());
    let mut stdout = io::stdout();
    writeln!(
        stdout,
        "kv on {address}: {workers} workers, {shards} shards, scheduler {queue}, under a mixed load ..."
    )?;
    let report = demo::drive(address).await?;
    stdout.write_all(report.text().as_bytes())?;
    if let Err(error) = server.shutdown(SHUTDOWN_TIMEOUT).await {
        writeln!(io::stderr(), "kv: {error}")?;
        return Ok(ExitCode::FAILURE);
    }
    writeln!(
        stdout,
        "Next: start it with `kv`, and measure it with `redis-benchmark -t set,get -P 16`."
    )?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says why the server did not start and what to do about it.
fn explain(error: &StartError) -> io::Result<()> {
    let mut stderr = io::stderr();
    writeln!(stderr, "kv: {error}")?;
    let mut said = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let text = cause.to_string();
        // Some errors say also what their cause is.
        if !said.ends_with(&text) {
            writeln!(stderr, "  because: {text}")?;
        }
        said = text;
        source = cause.source();
    }
    if let StartError::Listen { address, source } = error
        && source.kind() == io::ErrorKind::AddrInUse
    {
        let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(6380));
        writeln!(
            stderr,
            "Another program has this port, perhaps a Redis. Take another one:\n\n  kv --listen {other}"
        )?;
    }
    Ok(())
}

/// Asks the system for as many open files as there may be clients.
fn raise_file_limit(clients_max: usize) {
    let wanted = (clients_max as u64).saturating_add(SPARE_FILES);
    let got = rlimit::increase_nofile_limit(wanted).unwrap_or(0);
    if got < wanted {
        complain(format_args!(
            "the system allows {got} open files, which is fewer than {clients_max} clients need"
        ));
    }
}
