//! Messages between two processes of one machine: what carries them elsewhere.
//!
//! A server prints where it is and serves until it is killed; a client does one kind of work with it. Frames on
//! streams are a length of four bytes, one byte that says whether an answer is wanted, and the payload.

pub mod quic;
pub mod raw;
pub mod s2n;
pub mod stream;
mod tls;

use futures_util::future::{Either, select, try_join_all};
use std::error::Error;
use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Whatever went wrong.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Bytes of a small message.
pub const SMALL: usize = 64;
/// Bytes of a large one.
pub const LARGE: usize = 64 << 10;

/// Bytes of the longest datagram of QUIC on this machine: as long as greenroom's to a node there.
pub const NEAR_MTU: u16 = 16_416;
/// The same on a path over Ethernet and IPv4.
pub const FAR_MTU: u16 = 1_472;
/// Bytes of a socket's buffers, as greenroom has them: with the kernel's default QUIC loses packets of bulk.
const SOCKET_BYTES: usize = 4 << 20;

/// Whose cipher: the fastest of TLS, or greenroom's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-128-GCM, with the processor's help.
    Aes,
    /// ChaCha20-Poly1305.
    ChaCha,
}

/// What is used of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A stream for each message.
    Streams,
    /// A datagram for each message that wants no answer.
    Datagrams,
    /// One stream with frames, as over TCP.
    Framed,
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sends small messages, each after the answer to the one before.
    Ask,
    /// Sends small messages that want no answer, and then one that does.
    Tell,
    /// Sends large messages that want no answer, and then one that does.
    Bulk,
}

impl Work {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Tell, Self::Bulk];

    /// Bytes of its messages.
    #[must_use]
    pub fn bytes(self) -> usize {
        if self == Self::Bulk { LARGE } else { SMALL }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "ask",
            Self::Tell => "tell",
            Self::Bulk => "bulk",
        })
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|work| work.to_string() == text);
        known.ok_or_else(|| format!("no work is called {text}"))
    }
}

/// Times of a client's work, in nanoseconds: of each question, or of all together.
#[derive(Debug)]
pub struct Times(pub Vec<f64>);

/// Takes the time of each of so many questions.
///
/// # Errors
/// What the question says.
pub async fn each(
    count: usize,
    mut ask: impl AsyncFnMut() -> Result<(), Failure>,
) -> Result<Times, Failure> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        ask().await?;
        times.push(nanos(start.elapsed()));
    }
    Ok(Times(times))
}

/// How many ask at the same time beside something.
pub const ASKERS: usize = 8;
/// How many large answers are asked for at a time.
pub const FETCHED: usize = 32;
/// The question whose answer is large, where streams carry questions: of one byte, so that it comes whole.
pub(crate) const FETCH: &[u8] = b"?";

/// What is beside small questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Large messages that want no answer, as fast as they go.
    Flow,
    /// Small questions, [`FETCHED`] at a time, whose answers are large.
    Fetch,
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "alone",
            Self::Flow => "flow",
            Self::Fetch => "fetch",
        })
    }
}

impl FromStr for Beside {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known =
            [Self::Nothing, Self::Flow, Self::Fetch].into_iter().find(|it| it.to_string() == text);
        known.ok_or_else(|| format!("nothing beside questions is called {text}"))
    }
}

/// Takes the time of each of so many questions of each asker, who ask at the same time, while other work is done that
/// is not to end.
///
/// # Errors
/// What a question or the other work says.
pub(crate) async fn beside(
    count: usize,
    ask: impl AsyncFn() -> Result<(), Failure>,
    other: impl Future<Output = Result<(), Failure>>,
) -> Result<Times, Failure> {
    let askers = (0..ASKERS).map(|_| each(count, &ask));
    match select(pin!(try_join_all(askers)), pin!(other)).await {
        Either::Left((times, _)) => Ok(Times(times?.into_iter().flat_map(|it| it.0).collect())),
        Either::Right((ended, _)) => {
            Err(ended.err().unwrap_or_else(|| "the other work has ended".into()))
        }
    }
}

/// The work beside questions: a flow, or `fetch` many times at once.
///
/// # Errors
/// What it says.
pub(crate) async fn other_work(
    what: Beside,
    flow: impl Future<Output = Result<(), Failure>>,
    fetch: impl AsyncFn() -> Result<(), Failure>,
) -> Result<(), Failure> {
    match what {
        Beside::Nothing => pending().await,
        Beside::Flow => flow.await,
        Beside::Fetch => {
            let fetching = (0..FETCHED).map(async |_| {
                loop {
                    fetch().await?;
                }
            });
            try_join_all(fetching).await.map(|_: Vec<()>| ())
        }
    }
}

/// Takes the time of all of it.
///
/// # Errors
/// What it says.
pub async fn all(work: impl Future<Output = Result<(), Failure>>) -> Result<Times, Failure> {
    let start = Instant::now();
    work.await?;
    Ok(Times(vec![nanos(start.elapsed())]))
}

/// Takes the time of sending so many datagrams, which `send` does, until the last of those that arrive: `arrived` asks how
/// many have. It is the time of as many as were sent, at the rate of those that arrived.
///
/// # Errors
/// What either says, or that none arrived.
pub(crate) async fn of_arrivals(
    count: usize,
    send: impl Future<Output = Result<(), Failure>>,
    mut arrived: impl AsyncFnMut() -> Result<u64, Failure>,
) -> Result<Times, Failure> {
    let start = Instant::now();
    send.await?;
    let (mut most, mut taken, mut same) = (0, Duration::ZERO, 0);
    while most < count as u64 && same < UNCHANGED {
        let now = arrived().await?;
        same = if now > most { 0 } else { same + 1 };
        if same == 0 {
            (most, taken) = (now, start.elapsed());
        }
    }
    if most == 0 {
        return Err("no datagram arrived".into());
    }
    Ok(Times(vec![nanos(taken) * count as f64 / most as f64]))
}

/// After so many questions to which the answer was the same nothing more arrives: each is behind what is sent before it.
const UNCHANGED: u32 = 100;

/// A span in nanoseconds.
#[must_use]
pub fn nanos(span: Duration) -> f64 {
    span.as_secs_f64() * 1e9
}
