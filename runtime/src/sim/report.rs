//! How a failing world is asked for again, and what is written about it.

use super::check::Failure;
use super::choice::Source;
use super::explore::Attempt;
use crate::sync::thread;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const SEED: &str = "GREENROOM_SEED";
const SEEDS: &str = "GREENROOM_SEEDS";
const CHOICES: &str = "GREENROOM_CHOICES";
const PLACE: &str = "GREENROOM_SIM_DIR";

/// The one world that the environment asks for.
///
/// # Panics
/// If what it asks for cannot be read.
pub(super) fn asked_for() -> Option<Source> {
    if let Some(seed) = number(SEED) {
        return Some(Source::Seed(seed));
    }
    let path = env::var(CHOICES).ok()?;
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{CHOICES}={path}: {error}"));
    let value =
        |word: &str| word.parse().unwrap_or_else(|_| panic!("{path}: {word:?} is no choice"));
    Some(Source::Record(text.split_whitespace().map(value).collect()))
}

/// How many seeds the environment asks for.
///
/// # Panics
/// If that is no number.
pub(super) fn seeds() -> Option<u64> {
    number(SEEDS)
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Writes the files on a failure, and says what failed, how to repeat it and where the files are.
pub(super) fn write(
    failure: &Failure,
    attempt: &Attempt,
    chosen: usize,
    seed: Option<u64>,
) -> String {
    let mut text = format!("{failure}\n\n");
    let busy = attempt.record.iter().filter(|&&value| value != 0).count();
    let mut line = |line: String| writeln!(text, "  {line}").expect("writing to a string");
    line(format!("of {chosen} choices {busy} matter:"));
    let shrunk = attempt
        .failure
        .as_ref()
        .map_or("it does not fail again!".into(), |failure| failure.text.clone());
    line(format!("{shrunk}\n"));
    if let Some(seed) = seed {
        line(format!("to repeat it:   {SEED}={seed} {}", command()));
    }
    match files(attempt, seed) {
        Ok(place) => {
            let place = place.display();
            line(format!("the short way:  {CHOICES}={place}/choices {}", command()));
            line(format!("what happened:  {place}/log"));
            line(format!("what was chosen: {place}/trace"));
        }
        Err(error) => line(format!("no files, because {error}")),
    }
    text
}

fn files(attempt: &Attempt, seed: Option<u64>) -> io::Result<PathBuf> {
    let test = test_name().unwrap_or_else(|| "world".to_owned()).replace("::", "-");
    let name = seed.map_or_else(|| test.clone(), |seed| format!("{test}-{seed}"));
    let place = place().join(name);
    fs::create_dir_all(&place)?;
    let choices: Vec<_> = attempt.record.iter().map(u64::to_string).collect();
    fs::write(place.join("choices"), choices.join(" ") + "\n")?;
    fs::write(place.join("log"), attempt.log.join("\n") + "\n")?;
    fs::write(place.join("trace"), attempt.trace.join("\n") + "\n")?;
    Ok(place)
}

/// The folder for files on failures: `sim` in the folder that the program was built into.
fn place() -> PathBuf {
    if let Ok(place) = env::var(PLACE) {
        return place.into();
    }
    let program = env::current_exe().unwrap_or_default();
    let built = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    built.map_or_else(env::temp_dir, Path::to_path_buf).join("sim")
}

/// The running test, which the test harness names its thread after.
fn test_name() -> Option<String> {
    thread::current().name().filter(|&name| name != "main").map(ToOwned::to_owned)
}

/// What runs this test, or this program, again.
fn command() -> String {
    let program = env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Cargo adds a hash to the names of tests.
    let target = stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name);
    match (test_name(), env::var("CARGO_PKG_NAME")) {
        (Some(test), Ok(package)) if package.replace('-', "_") == target => {
            format!("cargo test -p {package} --lib -- --exact {test}")
        }
        (Some(test), Ok(package)) => {
            format!("cargo test -p {package} --test {target} -- --exact {test}")
        }
        (Some(test), Err(_)) => format!("{} --exact {test}", program.display()),
        (None, _) => program.display().to_string(),
    }
}
