//! What a request of 32 bytes and its reply cost: client and server together, on one thread, over
//! devices that cost next to nothing.
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example rpc_cost
//! chrt -r 50 target/release/examples/rpc_cost time
//! valgrind --tool=callgrind --callgrind-out-file=few target/release/examples/rpc_cost count nothing 20000
//! valgrind --tool=callgrind --callgrind-out-file=many target/release/examples/rpc_cost count nothing 40000
//! ```
//!
//! `time`, with how many rounds (101), prints the time of each, by the median of rounds that take turns; `count`, with what is
//! done beside it or otherwise, how many requests, how many at a time (64) and bytes that go inline (220), is to be counted: the difference
//! of the two counts of instructions, over 20,000, is what one costs; that of each `phase_`, with what it calls, what the phase
//! costs. `control` is the devices alone, which have to carry the same packets: what they cost is not ours. `beside` says what
//! else there is; `sealed` is with the cipher, and all others are without.

mod beside;
mod direct;
mod work;

use beside::{Beside, Clock, Copied, Fixed, Fx, Growing, Nothing, Ordered, Sip, Ticks, Wheel};
use greenroom_transports::secure::entropy::{Entropy, System};
use greenroom_transports::secure::key::{KEY_BYTES, Key};
use std::error::Error;
use std::time::{Duration, Instant};
use work::{Control, Requests, Size, Work};

/// Requests of one round.
const ROUND: u64 = 10_000;

/// What can be measured.
const NAMES: [&str; 16] = [
    "control",
    "nothing",
    "again",
    "clock",
    "ticks",
    "sip",
    "fx",
    "ordered",
    "wheel",
    "scanned",
    "copied",
    "growing",
    "fixed",
    "dynamic",
    "signalled",
    "sealed",
];
/// After how long requests are repeated, and so that sessions are looked through in every turn, of 2 µs.
const REPEAT_AFTER: Duration = Duration::from_millis(5);
const REPEAT_SOON: Duration = Duration::from_micros(20);

type Made = Result<Box<dyn Work>, Box<dyn Error>>;

fn work(name: &str, depth: u16, inline_bytes: u32) -> Made {
    let size = Size { depth, inline_bytes, repeat_after: REPEAT_AFTER, signals_all: false };
    match name {
        "control" => Ok(Box::new(Control::new(depth)?)),
        // Once more, to see how far apart two of the same are.
        "nothing" | "again" => plain(size, Nothing),
        "clock" => plain(size, Clock),
        "ticks" => plain(size, Ticks::new()),
        "sip" => plain(size, Sip::new()),
        "fx" => plain(size, Fx::new()),
        "ordered" => plain(size, Ordered::new()),
        "wheel" => plain(size, Wheel::new()),
        "scanned" => plain(Size { repeat_after: REPEAT_SOON, ..size }, Nothing),
        "copied" => plain(size, Copied::new()),
        "growing" => plain(size, Growing::new()),
        "fixed" => plain(size, Fixed::new()),
        "dynamic" => Ok(Box::new(Requests::dynamic(size, Nothing)?)),
        "signalled" => plain(Size { signals_all: true, ..size }, Nothing),
        "sealed" => {
            let mut secret = [0; KEY_BYTES];
            System.fill(&mut secret)?;
            Ok(Box::new(Requests::new(size, Some(&Key::new(secret)), Nothing)?))
        }
        _ => Err(format!("{name} is none of {NAMES:?}").into()),
    }
}

/// Without a cipher, and with that beside it.
fn plain<B: Beside + 'static>(size: Size, beside: B) -> Made {
    Ok(Box::new(Requests::new(size, None, beside)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |text| text.parse::<u32>());
    match arguments.first().map(String::as_str) {
        Some("count") => {
            let name = arguments.get(1).map_or("nothing", String::as_str);
            let depth = number(3, 64)?.try_into()?;
            let mut work = work(name, depth, number(4, 220)?)?;
            let answered = work.run(number(2, 20_000)?.into());
            let [sends, receives] = work.rung().map(|rung| rung as f64 / answered as f64);
            eprintln!(
                "{answered} replies; doorbells for each: sends {sends:.3}, receives {receives:.3}"
            );
            Ok(())
        }
        Some("time") => time(number(1, 101)?, number(2, 64)?.try_into()?, number(3, 220)?),
        _ => Err("time ROUNDS DEPTH INLINE, or count WHAT REQUESTS DEPTH INLINE".into()),
    }
}

/// All of them, taking turns.
fn time(rounds: u32, depth: u16, inline_bytes: u32) -> Result<(), Box<dyn Error>> {
    let works = NAMES.map(|name| work(name, depth, inline_bytes).map(|work| (name, work)));
    let mut works = works.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut times = vec![Vec::new(); works.len()];
    for round in 0..=rounds {
        for ((_, work), times) in works.iter_mut().zip(&mut times) {
            let began = Instant::now();
            work.run(ROUND);
            // The first round warms up.
            if round > 0 {
                times.push(began.elapsed());
            }
        }
    }
    let medians: Vec<_> = times.iter_mut().map(|times| median(times)).collect();
    let (control, nothing) = (medians[0], medians[1]);
    eprintln!(
        "{rounds} rounds of {ROUND} requests, {depth} at a time, {inline_bytes} bytes inline"
    );
    eprintln!("beside          ns    ours   ratio");
    for ((name, _), nanos) in works.iter().zip(&medians) {
        let (ours, ratio) = (nanos - control, (nanos - control) / (nothing - control));
        eprintln!("{name:10} {nanos:7.1} {ours:7.1} {ratio:7.2}");
    }
    Ok(())
}

/// Nanoseconds of one request.
fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e9 / ROUND as f64
}
