//! A real Redis, and its replies byte by byte.

use crate::kv_support::{PATIENCE, encode, ports};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn missing(name: &str, error: &std::io::Error) -> ! {
    panic!("cannot run {name}: {error}; on Debian: apt-get install redis-server redis-tools")
}

/// A Redis on a free port, ended when dropped.
pub(crate) struct Redis {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Redis {
    pub(crate) fn start() -> Self {
        let end = Instant::now() + PATIENCE;
        loop {
            let address = SocketAddr::from(([127, 0, 0, 1], ports::free()));
            let mut redis = Self { child: Self::child(address.port()), address };
            // It ends at once where somebody else has come to have the port.
            while matches!(redis.child.try_wait(), Ok(None)) {
                if redis.listens() {
                    return redis;
                }
                assert!(Instant::now() < end, "redis-server does not listen");
                std::thread::yield_now();
            }
        }
    }

    fn child(port: u16) -> Child {
        let port = port.to_string();
        let arguments =
            ["--port", &port, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"];
        let child = program("redis-server").args(arguments).stdout(Stdio::null()).spawn();
        child.unwrap_or_else(|error| missing("redis-server", &error))
    }

    /// Whether it is this one that listens.
    fn listens(&self) -> bool {
        let Ok(stream) = TcpStream::connect(self.address) else { return false };
        let mut peer = Peer::new(stream);
        peer.send(&[b"INFO".to_vec(), b"server".to_vec()]);
        let told = peer.reply().bytes();
        let own = format!("\r\nprocess_id:{}\r\n", self.child.id());
        told.windows(own.len()).any(|part| part == own.as_bytes())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A reply as it came, with its items apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) head: Vec<u8>,
    pub(crate) items: Vec<Self>,
}

impl Raw {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let items = self.items.iter().flat_map(Self::bytes);
        self.head.iter().copied().chain(items).collect()
    }

    /// Sorts the items, `group` at a time.
    pub(crate) fn sort(&mut self, group: usize) {
        let mut groups: Vec<Vec<Self>> = self.items.chunks(group).map(<[Self]>::to_vec).collect();
        groups.sort_by_key(|group| group.iter().flat_map(Self::bytes).collect::<Vec<_>>());
        self.items = groups.concat();
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        std::str::from_utf8(self.head.strip_prefix(b":")?).ok()?.trim().parse().ok()
    }
}

/// A connection to it, or to `kv`.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    pub(crate) reader: BufReader<TcpStream>,
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap())
    }

    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    pub(crate) fn send(&mut self, command: &[Vec<u8>]) {
        let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
        self.stream.write_all(&encode(&words)).unwrap();
    }

    pub(crate) fn reply(&mut self) -> Raw {
        let mut head = Vec::new();
        self.reader.read_until(b'\n', &mut head).unwrap();
        let count =
            std::str::from_utf8(&head[1..]).ok().and_then(|text| text.trim().parse::<usize>().ok());
        let items = match (head[0], count) {
            (b'$' | b'=', Some(len)) => {
                let start = head.len();
                head.resize(start + len + 2, 0);
                self.reader.read_exact(&mut head[start..]).unwrap();
                0
            }
            (b'*' | b'~' | b'>', Some(len)) => len,
            (b'%', Some(len)) => len * 2,
            _ => 0,
        };
        Raw { head, items: (0..items).map(|_| self.reply()).collect() }
    }

    pub(crate) fn call(&mut self, words: &[&str]) -> Raw {
        self.send(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>());
        self.reply()
    }
}
