//! A server on a free port and a small client, for the tests of `kv`.

#![allow(dead_code, reason = "each test program uses a part of it")]

#[cfg(target_os = "linux")]
#[path = "../../../runtime/tests/support/afterwards.rs"]
mod afterwards;
#[path = "../../../transports/tests/ports/mod.rs"]
pub(crate) mod ports;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use greenroom_examples::kv::{Limits, Server, Settings};
use resp_rs::resp3::{Frame, Parser};

/// How long a test waits for what must come, before it says that it did not.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server in a thread of its own, and what it takes to end it.
pub(crate) struct Running {
    runtime: tokio::runtime::Runtime,
    server: Option<Server>,
    pub(crate) address: SocketAddr,
}

impl Running {
    /// Starts a server with these limits.
    pub(crate) fn start(shards: usize, limits: Limits) -> Self {
        let shards = Some(shards);
        Self::start_with(Settings { shards, limits, workers: 2, ..Settings::default() })
    }

    /// Starts a server that keeps its keys in `dir`.
    pub(crate) fn start_in(dir: &Path, shards: usize, limits: Limits) -> Self {
        let dir = Some(dir.to_owned());
        let shards = Some(shards);
        Self::start_with(Settings { shards, limits, dir, workers: 2, ..Settings::default() })
    }

    /// Starts a server that is set up so, on a free port.
    pub(crate) fn start_with(settings: Settings) -> Self {
        #[cfg(target_os = "linux")]
        afterwards::look_afterwards();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = Settings { listen, ..settings };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(Server::start(settings)).unwrap();
        let address = server.address();
        Self { runtime, server: Some(server), address }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Ends the server; the test fails if it does not end.
    pub(crate) fn stop(self) {
        self.stop_within(PATIENCE);
    }

    /// Ends the server, whose clients have so much time; the test fails if it does not end.
    pub(crate) fn stop_within(mut self, time: Duration) {
        let server = self.server.take().unwrap();
        self.runtime.block_on(server.shutdown(time)).unwrap();
    }

    /// Returns a number from `INFO`.
    pub(crate) fn info(&self, name: &str) -> u64 {
        let text = self.connect().text(&["INFO"]);
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        line.unwrap_or_else(|| panic!("INFO has {name}")).trim().parse().unwrap()
    }

    /// Waits until a number from `INFO` is `wanted`.
    pub(crate) fn until(&self, name: &str, wanted: u64) {
        let mut client = self.connect();
        let end = Instant::now() + PATIENCE;
        loop {
            let text = client.text(&["INFO"]);
            let line = format!("{name}:{wanted}");
            if text.lines().any(|found| found.trim() == line) {
                return;
            }
            assert!(Instant::now() < end, "waited for {line} in:\n{text}");
            std::thread::yield_now();
        }
    }
}

/// What a socket says, but for that [`PATIENCE`] is over, where the test fails.
fn in_time<T>(result: io::Result<T>) -> io::Result<T> {
    let kind = result.as_ref().err().map(io::Error::kind);
    let is_late = matches!(kind, Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
    assert!(!is_late, "the server neither goes on nor ends the connection");
    result
}

/// The address that a server says first; the test fails if it says none, and the server is ended.
pub(crate) fn address_of(child: &mut Child) -> SocketAddr {
    let line = said_until(child, "\n");
    let address = line.split(' ').nth(3).and_then(|word| word.parse().ok());
    address.unwrap_or_else(|| {
        child.kill().unwrap();
        panic!("instead of its address it says {line:?}")
    })
}

/// The lines that a program says up to one with a word; the test fails if there is none, and the program is ended.
pub(crate) fn said_until(child: &mut Child, word: &'static str) -> String {
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let (sender, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = String::new();
        while !lines.contains(word) && from.read_line(&mut lines).is_ok_and(|read| read > 0) {}
        let _ = sender.send((lines, from));
    });
    let said = said.recv_timeout(PATIENCE).map(|(lines, from)| {
        child.stdout = Some(from.into_inner());
        lines
    });
    said.ok().filter(|lines| lines.contains(word)).unwrap_or_else(|| {
        child.kill().unwrap();
        panic!("the program does not say {word:?}")
    })
}

/// A connection whose every wait has an end.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a process a signal, as `-TERM`.
pub(crate) fn signal(child: &Child, name: &str) {
    // A shell has it; a program of the name is not everywhere.
    let kill = format!("kill {name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits until a program has ended; the test fails if it does not end.
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("the program does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = self.runtime.block_on(server.shutdown(Duration::from_secs(1)));
        }
    }
}

/// Reads what has come. A process that was halted for a while finds its call interrupted, where that has a limit.
pub(crate) fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// A blocking client.
pub(crate) struct Client {
    pub stream: TcpStream,
    parser: Parser,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = connect(address);
        stream.set_nodelay(true).unwrap();
        Self { stream, parser: Parser::new() }
    }

    /// Sends one command and returns its reply.
    pub(crate) fn call(&mut self, words: &[&str]) -> Frame {
        self.send(&encode(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>()));
        self.reply()
    }

    /// Sends one command and returns its reply as text: a string, an error, a number.
    pub(crate) fn text(&mut self, words: &[&str]) -> String {
        show(&self.call(words))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    /// Sends bytes, or says why they cannot be; the test fails if the server neither takes them nor ends the connection.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        in_time(self.stream.write_all(bytes))
    }

    /// Returns the next reply; the test fails if none comes.
    pub(crate) fn reply(&mut self) -> Frame {
        self.try_reply().expect("a reply")
    }

    /// Returns the next reply, or why there is none; the test fails if the server neither replies nor ends the connection.
    pub(crate) fn try_reply(&mut self) -> io::Result<Frame> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            if let Some(frame) = self.parser.next_frame().map_err(io::Error::other)? {
                return Ok(frame);
            }
            match in_time(read(&mut self.stream, &mut buffer))? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.parser.feed(Bytes::copy_from_slice(&buffer[..count])),
            }
        }
    }

    /// Returns whether the server closes the connection, dropping what it still sends.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match read(&mut self.stream, &mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == io::ErrorKind::ConnectionReset,
            }
        }
    }
}

/// Returns a command as it is sent.
pub(crate) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Returns a reply as text, items in brackets.
pub(crate) fn show(frame: &Frame) -> String {
    match frame {
        Frame::Array(None) | Frame::BulkString(None) | Frame::Null => "nil".to_owned(),
        Frame::Array(Some(items)) | Frame::Set(items) | Frame::Push(items) => {
            let items: Vec<String> = items.iter().map(show).collect();
            format!("[{}]", items.join(" "))
        }
        Frame::Map(pairs) => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(name, value)| format!("{}={}", show(name), show(value)))
                .collect();
            format!("{{{}}}", pairs.join(" "))
        }
        Frame::Integer(number) => number.to_string(),
        Frame::VerbatimString { payload } => {
            String::from_utf8_lossy(payload.get(4..).unwrap_or_default()).into_owned()
        }
        other => other.as_str().map_or_else(|| format!("{other:?}"), str::to_owned),
    }
}
