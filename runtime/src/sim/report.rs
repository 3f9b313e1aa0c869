//! How a failing world is asked for again, and what is written about it.

use super::check::Failure;
use super::choice::Source;
use super::explore::Attempt;
use super::parting::Parting;
use crate::sync::thread;
use std::fmt::{Display, Write as _};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
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
/// If that is no number, or none: a test that runs in no world passes.
pub(super) fn seeds() -> Option<u64> {
    let seeds = number(SEEDS);
    assert!(seeds != Some(0), "{SEEDS}=0: there would be no world");
    seeds
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A failure, and what is known about it.
pub(super) struct Report<'a> {
    pub(super) failure: &'a Failure,
    /// The run that is shown.
    pub(super) attempt: Attempt,
    /// How many choices the first run made.
    pub(super) chosen: usize,
    /// Where runs of these choices part, if they do.
    pub(super) parting: Option<Parting>,
    pub(super) seed: Option<u64>,
}

impl Report<'_> {
    /// Writes the files, and says what failed, how to repeat it and where the files are.
    pub(super) fn write(self) -> String {
        let mut text = format!("{}\n\n", self.failure);
        let mut line = |line: String| writeln!(text, "  {line}").expect("writing to a string");
        line(self.of_the_choices() + "\n");
        if let Some(commit) = commit() {
            line(format!("commit:         {commit}"));
        }
        if let Some(seed) = self.seed {
            let (command, as_built) = (command(), as_built());
            line(format!("to repeat it:   {SEED}={seed} {command}"));
            if as_built != command {
                line("                with --release and --features as it was built".to_owned());
                line(format!("as it is built: {SEED}={seed} {as_built}"));
            }
        }
        match self.files() {
            Ok((place, has_packets)) => {
                let place = place.display();
                // Another build may choose otherwise.
                line(format!("the short way:  {CHOICES}={place}/choices {}", as_built()));
                line(format!("what happened:  {place}/log"));
                line(format!("what was chosen: {place}/trace"));
                if has_packets {
                    line(format!("what was sent:  {place}/packets.pcapng"));
                }
            }
            Err(error) => line(format!("no files, because {error}")),
        }
        text
    }

    fn of_the_choices(&self) -> String {
        if let Some(parting) = &self.parting {
            return format!("{} choices were made; {parting}", self.chosen);
        }
        let busy = self.attempt.record.iter().filter(|&&value| value != 0).count();
        let shrunk = self.attempt.failure.as_ref();
        let shrunk = shrunk.map_or("it does not fail again!", |failure| &failure.text);
        format!("of {} choices {busy} matter:\n  {shrunk}", self.chosen)
    }

    /// Writes the files; their folder, and whether there were packets.
    fn files(self) -> io::Result<(PathBuf, bool)> {
        let test = test_name().unwrap_or_else(|| "world".to_owned()).replace("::", "-");
        let name = self.seed.map_or_else(|| test.clone(), |seed| format!("{test}-{seed}"));
        let place = place().join(name);
        fs::create_dir_all(&place)?;
        let Attempt { record, log, trace, capture, .. } = self.attempt;
        write_all(&place.join("choices"), &record, " ")?;
        write_all(&place.join("log"), &log, "\n")?;
        write_all(&place.join("trace"), &trace, "\n")?;
        let has_packets = capture.is_some();
        if let Some(capture) = capture {
            fs::write(place.join("packets.pcapng"), capture.into_bytes())?;
        }
        Ok((place, has_packets))
    }
}

/// Writes values into a file, one behind the other: there are millions where a world does not end.
fn write_all(path: &Path, values: &[impl Display], between: &str) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for (at, value) in values.iter().enumerate() {
        let before = if at == 0 { "" } else { between };
        write!(file, "{before}{value}")?;
    }
    writeln!(file)?;
    file.flush()
}

/// The commit that is checked out where the test runs, if git knows.
fn commit() -> Option<String> {
    let arguments = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"];
    let described = Command::new("git").args(arguments).output().ok()?;
    let commit = String::from_utf8(described.stdout).ok()?;
    let commit = commit.trim();
    (described.status.success() && !commit.is_empty()).then(|| commit.to_owned())
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

/// The features that this crate was built with. Of others nobody knows.
const FEATURES: [(&str, bool); 7] = [
    ("journal", cfg!(feature = "journal")),
    ("membership", cfg!(feature = "membership")),
    ("net", cfg!(feature = "net")),
    ("postgres", cfg!(feature = "postgres")),
    ("prost", cfg!(feature = "prost")),
    ("test-util", cfg!(feature = "test-util")),
    ("zerocopy", cfg!(feature = "zerocopy")),
];

/// What asks cargo for the features that this test was built with, if it is one of this crate.
fn features(package: &str) -> String {
    let on = FEATURES.iter().filter(|(_, is_on)| *is_on && package == env!("CARGO_PKG_NAME"));
    let on: Vec<_> = on.map(|(name, _)| *name).collect();
    if on.is_empty() { String::new() } else { format!(" --features {}", on.join(",")) }
}

/// What runs this test, or this program, again.
fn command() -> String {
    let program = env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Cargo adds a hash to the names of tests.
    let target = stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name);
    match (test_name(), env::var("CARGO_PKG_NAME"), env::var("CARGO_MANIFEST_DIR")) {
        (Some(test), Ok(package), Ok(folder)) => {
            let target = target_of(Path::new(&folder), &package, target);
            let features = features(&package);
            format!("cargo test -p {package}{features}{target} -- --exact {test}")
        }
        _ => as_built(),
    }
}

/// What asks cargo for the program of that name alone; nothing where that is not known, or where several have the name,
/// since all of the package have this one among them.
fn target_of(folder: &Path, package: &str, name: &str) -> String {
    let has = |file: &str| folder.join(file).exists();
    let is_in = |of_kind: &str| {
        has(&format!("{of_kind}/{name}.rs")) || has(&format!("{of_kind}/{name}/main.rs"))
    };
    // A package's library and its main program have one name.
    let is_of_package = package.replace('-', "_") == name;
    let is_lib = is_of_package && has("src/lib.rs");
    let is_other = is_of_package && has("src/main.rs") || is_in("src/bin") || is_in("examples");
    match (is_in("tests"), is_lib, is_other) {
        (true, false, false) => format!(" --test {name}"),
        (false, true, false) => " --lib".to_owned(),
        _ => String::new(),
    }
}

/// What runs this test of this program, or this program, again as it was built.
fn as_built() -> String {
    let program = env::current_exe().unwrap_or_default();
    let test = test_name().map(|test| format!(" --exact {test}")).unwrap_or_default();
    format!("{}{test}", program.display())
}

#[cfg(test)]
mod tests;
