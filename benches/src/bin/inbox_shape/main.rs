//! Compares two shapes of an actor's inbox: the figures behind the decision page on the inbox.
//!
//! ```text
//! cargo run --release -p greenroom-benches --bin inbox_shape
//! ```
//!
//! `swap` is Vyukov's queue with the IDLE tag in its head. `stack` is a stack that is taken whole,
//! with the consumer's own list beside the word that senders write, or `apart` on another line.
//! Every round runs every shape once in every row; the table shows medians, and the first shape
//! against itself as the control.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the table is the program's purpose")]

mod nodes;
mod rows;
mod shapes;

use greenroom_benches::{instructions, machine, stats};
use rows::{batch, ping, ping_pong};
use shapes::{Shape, StackApart, StackBeside, Swap};
use std::process::ExitCode;
use std::time::Duration;

const ROUNDS: usize = 11;

struct Row {
    name: &'static str,
    about: &'static str,
    ops: u64,
    run: [fn(u64) -> Duration; 3],
    threads: usize,
}

const SHAPES: [&str; 3] = ["swap", "stack", "stack-apart"];

fn streamed<S: Shape>(n: u64) -> Duration {
    rows::stream::<S>(1, 0, n)
}

fn worked<S: Shape>(n: u64) -> Duration {
    rows::stream::<S>(1, 20, n)
}

fn fanned_in<S: Shape>(n: u64) -> Duration {
    rows::stream::<S>(2, 0, n)
}

macro_rules! row {
    ($name:literal, $about:literal, $ops:literal, $run:ident, $threads:literal) => {
        Row {
            name: $name,
            about: $about,
            ops: $ops,
            run: [$run::<Swap>, $run::<StackBeside>, $run::<StackApart>],
            threads: $threads,
        }
    };
}

const ROWS: [Row; 6] = [
    row!("ping", "one thread: push to idle, run one, go idle", 5_000_000, ping, 1),
    row!("batch", "one thread: 64 pushes, then run", 6_400_000, batch, 1),
    row!("stream", "one producer thread, one consumer thread", 10_000_000, streamed, 2),
    row!("worked", "stream, and both ends work for 20 steps", 5_000_000, worked, 2),
    row!("fan-in", "two producer threads, one consumer thread", 10_000_000, fanned_in, 3),
    row!("ping-pong", "two threads, both spinning, per hop", 1_000_000, ping_pong, 2),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => table(),
        ["one", shape, row, n] => return one(shape, row, n),
        _ => {
            println!("usage: inbox_shape [one SHAPE ROW N]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn one(shape: &str, row: &str, n: &str) -> ExitCode {
    let shape = SHAPES.iter().position(|&name| name == shape);
    let row = ROWS.iter().find(|known| known.name == row);
    let (Some(shape), Some(row), Ok(n)) = (shape, row, n.parse()) else {
        println!("no such shape, row or number");
        return ExitCode::FAILURE;
    };
    println!("{:.1} ns per message", nanos(row.run[shape](n), n));
    ExitCode::SUCCESS
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn nanos(took: Duration, ops: u64) -> f64 {
    took.as_nanos() as f64 / ops as f64
}

fn table() {
    println!("{}", machine::facts().line());
    println!("medians of {ROUNDS} interleaved rounds, ns per message; A/A: swap against swap");
    println!();
    println!(
        "| row | swap | stack | stack-apart | stack/swap | stack-apart/swap | A/A | instructions: swap, stack |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for row in &ROWS {
        if row.threads > machine::cores() {
            println!(
                "| {}: {} | not measured here: needs {} cores |",
                row.name, row.about, row.threads
            );
            continue;
        }
        // The fourth column is the first shape again.
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            for (column, run) in row.run.iter().chain([&row.run[0]]).enumerate() {
                times[column].push(nanos(run(row.ops), row.ops));
            }
        }
        let [swap, stack, apart, again] = times.map(|times| stats::median(&times));
        println!(
            "| {}: {} | {swap:.1} | {stack:.1} | {apart:.1} | {:.2} | {:.2} | {:.2} | {} |",
            row.name,
            row.about,
            stack / swap,
            apart / swap,
            again / swap,
            counted(row),
        );
    }
}

/// Instructions per message, for the rows where their number does not depend on luck.
fn counted(row: &Row) -> String {
    if row.threads > 1 {
        return "-".into();
    }
    let per_message = |shape: &str| {
        let count = |n: u64| instructions::of_self(&["one", shape, row.name, &n.to_string()]);
        instructions::per_op(count, 64_000, 128_000)
    };
    match (per_message("swap"), per_message("stack")) {
        (Ok(swap), Ok(stack)) => format!("{swap:.1}, {stack:.1}"),
        (Err(why), _) | (_, Err(why)) => why.to_string(),
    }
}
