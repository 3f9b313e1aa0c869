//! Actors by RDMA beside `perftest` on the same device, by turns: what the goals of ratios are measured with.
//!
//! ```sh
//! .ci/perftest            # in the guest
//! .ci/perftest --write    # and keeps the section of benches/RESULTS.md
//! cargo build --release -p greenroom-transports --features rdma,ring --example perftest
//! target/release/examples/perftest ROUNDS DEVICE GID_INDEX ADDRESS
//! ```
//!
//! Each round runs every measurement of `perftest` and of actors once; the tables have medians. Both ends are on this
//! machine: two processes of `perftest`, and two systems with a worker each.

#![expect(clippy::print_stdout, reason = "a measurement shows what it has found")]

mod actors;
mod peer;

use actors::How;
use greenroom::Idle;
use peer::Device;
use std::error::Error;
use std::time::Duration;

type Failure = Box<dyn Error>;

/// Questions, and exchanges of `ib_send_lat`, in a round.
const ASKS: u32 = 1_000;
/// Messages of 64 KiB in a round.
const LONG: u32 = 300;
/// Messages of 64 bytes in a round.
const SHORT: u32 = 20_000;

/// How actors are run, each with a row in every table.
const HOW: [(&str, How); 3] = [
    ("actors, not sealed", How { sealed: false, idle: Idle::Park }),
    ("actors, not sealed, spinning", How { sealed: false, idle: SPINNING }),
    ("actors, sealed", How { sealed: true, idle: Idle::Park }),
];

/// Longer than an answer takes in an emulator: `perftest` does not sleep, either.
const SPINNING: Idle = Idle::Spin(Duration::from_millis(5));

/// What one round has found of one who does all: µs of half a question, µs of a long message, ns of a short one.
#[derive(Clone, Copy, Default)]
struct Figures {
    one_way_us: f64,
    long_us: f64,
    short_us: f64,
}

fn perftest(device: &Device<'_>) -> Result<Figures, Failure> {
    Ok(Figures {
        one_way_us: device.latency(&["-c", "RC", "-s", "96"], ASKS)?,
        long_us: device.message(&["-c", "RC", "-s", "65536"], LONG)?,
        short_us: device.message(&["-c", "UD", "-s", "128"], SHORT)?,
    })
}

fn median(rounds: &[Figures], of: impl Fn(&Figures) -> f64) -> [f64; 3] {
    let mut all: Vec<_> = rounds.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    [all[all.len() / 2], all[0], all[all.len() - 1]]
}

/// A table of one kind of figure. The ratio is the time over that of `perftest`, or the other way round for a rate.
fn table(
    title: &str,
    rows: &[(&str, Vec<Figures>)],
    of: impl Fn(&Figures) -> f64 + Copy,
    is_rate: bool,
) {
    println!("### {title}\n");
    println!("| who | median, µs | least to most | ratio |\n|---|---|---|---|");
    let [base, ..] = median(&rows[0].1, of);
    for (name, rounds) in rows {
        let [middle, least, most] = median(rounds, of);
        let ratio = if is_rate { base / middle } else { middle / base };
        println!("| {name} | {middle:.2} | {least:.2} to {most:.2} | {ratio:.2} |");
    }
    println!();
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [rounds, name, gid_index, address] = &arguments[..] else {
        return Err("usage: perftest ROUNDS DEVICE GID_INDEX ADDRESS".into());
    };
    let device = Device { name, gid_index, address };
    let mut rows = vec![("perftest", Vec::new())];
    rows.extend(HOW.map(|(name, _)| (name, Vec::new())));
    rows.push(("perftest again", Vec::new()));
    for round in 0..rounds.parse()? {
        eprintln!("round {round}");
        for (name, figures) in &mut rows {
            let how = HOW.iter().find(|how| how.0 == *name);
            figures.push(match how {
                Some((_, how)) => actors::measure(*how)?,
                None => perftest(&device)?,
            });
        }
    }
    table(
        "64 bytes there and back, half of it; ib_send_lat -c RC -s 96",
        &rows,
        |it| it.one_way_us,
        false,
    );
    table("a message of 64 KiB; ib_send_bw -c RC -s 65536", &rows, |it| it.long_us, true);
    table("a message of 64 bytes, told; ib_send_bw -c UD -s 128", &rows, |it| it.short_us, true);
    Ok(())
}
