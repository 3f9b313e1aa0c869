//! The commands of `bench`.

use crate::results::Section;
use crate::{contest, idle, instructions, kv};
use std::path::PathBuf;

/// What `bench` prints when it is called wrongly.
pub const USAGE: &str = "\
usage: bench COMMAND [NAME…] [--rounds N] [--out FILE]

  run [NAME…]           the programs, or those named: greenroom against its peers
  instructions [NAME…]  the same, instructions per operation (needs valgrind)
  idle                  what 10,000 idle actors cost
  kv                    the kv server against redis-server (needs redis-server, redis-tools)
  list                  every program of every contestant
  one PROGRAM/WHO N     one measurement in this process: prints nanoseconds

  --rounds N            interleaved rounds, 7 unless said
  --out FILE            also writes the figures to FILE, such as benches/RESULTS.md";

/// The arguments, taken apart.
#[derive(Debug)]
pub struct Args {
    /// What is left of them: the command and its names.
    pub words: Vec<String>,
    /// How often each measurement is repeated.
    pub rounds: usize,
    /// Where the figures go, beside the screen.
    pub out: Option<PathBuf>,
}

impl Args {
    /// Takes the arguments apart.
    ///
    /// # Errors
    /// A sentence for the user when they cannot be understood.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self { words: Vec::new(), rounds: 7, out: None };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--rounds" => {
                    let rounds = args.next().and_then(|rounds| rounds.parse().ok());
                    parsed.rounds =
                        rounds.filter(|&rounds| rounds > 0).ok_or("--rounds needs a number")?;
                }
                "--out" => parsed.out = Some(args.next().ok_or("--out needs a file")?.into()),
                option if option.starts_with('-') => return Err(USAGE.into()),
                _ => parsed.words.push(arg),
            }
        }
        Ok(parsed)
    }
}

/// Does what the arguments say; returns what to print.
///
/// # Errors
/// A sentence for the user.
pub fn run(args: impl IntoIterator<Item = String>) -> Result<String, String> {
    let args = Args::parse(args)?;
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let section = match words[..] {
        ["run", ref names @ ..] => contest::section(names, args.rounds)?,
        ["instructions", ref names @ ..] => instructions::section(names)?,
        ["idle"] => idle::section()?,
        ["idle", scheduler] => return idle::measure(scheduler),
        ["kv"] => kv::section(args.rounds)?,
        ["list"] => return Ok(contest::list()),
        ["one", name, n] => return contest::one(name, n),
        _ => return Err(USAGE.into()),
    };
    if let Some(file) = args.out {
        section.write(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(section.to_markdown())
}

impl Section {
    /// A section of that heading, to be repeated by `command`.
    #[must_use]
    pub fn new(heading: &'static str, command: &[&str], text: String) -> Self {
        Self { heading, command: command.join(" "), text }
    }
}
