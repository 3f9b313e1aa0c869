//! The file that the figures are kept in: one section per measurement, each rewritten as a whole.
//!
//! A section starts with its heading and ends before the next one. The command and the machine stand
//! beside the figures of each, as sections may come from different runs.

use crate::machine;
use crate::rows::Row;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What stands above the sections, in the place of whatever stood there before.
const TITLE: &str = "# Results\n\nWritten by programs, not by hand, but for two sections; every section has the \
command that its figures come from.\n\n\
- `bench` writes all sections but those that follow, each as a whole.\n\
- `.ci/perftest --write` writes \"Beside perftest\".\n\
- \"RPC over queue pairs\" and \"Queue pairs that lose\" are written by hand, from what the example and the test print \
that are named there.\n";

/// What one measurement found.
#[derive(Debug)]
pub struct Section {
    /// Its heading, by which an older one is replaced.
    pub heading: &'static str,
    /// The command line that repeats it.
    pub command: String,
    /// How to read it, and the tables.
    pub text: String,
    /// Every single measurement behind the tables.
    pub rows: Vec<Row>,
}

impl Section {
    /// A section of that heading; who was called says how.
    #[must_use]
    pub const fn new(heading: &'static str, text: String) -> Self {
        Self { heading, command: String::new(), text, rows: Vec::new() }
    }

    /// The same, to be repeated by those arguments of `bench`.
    #[must_use]
    pub fn by(mut self, args: &[String]) -> Self {
        self.command = format!("cargo run --release -p greenroom-benches -- {}", args.join(" "));
        self
    }

    /// The same with the measurements behind it.
    #[must_use]
    pub fn with_rows(mut self, rows: Vec<Row>) -> Self {
        self.rows = rows;
        self
    }

    /// The section as it stands in the file.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        format!(
            "## {}\n\n`{}`\n\n{}\n\n{}\n",
            self.heading,
            self.command,
            machine::facts().line(),
            self.text.trim_end(),
        )
    }

    /// Writes the section to `file`, in the place of an older one if there is one.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let old = match fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => TITLE.to_owned(),
            old => old?,
        };
        fs::write(file, replace(&old, self.heading, &self.to_markdown()))
    }
}

/// Where `BENCH_OUT` keeps what a bench of Criterion's measures that is called with those arguments.
///
/// # Errors
/// When there are any: they may leave rows out, and a section is kept as a whole.
pub fn whole(out: Option<PathBuf>, args: &[String]) -> Result<Option<PathBuf>, String> {
    if out.is_some() && !args.is_empty() {
        let args = args.join(" ");
        return Err(format!("BENCH_OUT keeps whole sections: leave out `{args}`, or BENCH_OUT"));
    }
    Ok(out)
}

/// `old` with the section under `heading` replaced by `new`, or with `new` at its end. What stands above the sections is
/// always the same.
fn replace(old: &str, heading: &str, new: &str) -> String {
    let first_line = format!("## {heading}\n");
    let parts = old.split("\n## ").skip(1).map(|part| part.trim_end().to_owned());
    let mut text = TITLE.to_owned();
    let mut found = false;
    for part in parts {
        let part = format!("## {part}\n");
        text.push('\n');
        if part.starts_with(&first_line) {
            found = true;
            text.push_str(new);
        } else {
            text.push_str(&part);
        }
    }
    if !found {
        text.push('\n');
        text.push_str(new);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Section, TITLE, replace, whole};
    use std::path::PathBuf;

    #[test]
    fn a_section_is_appended_then_replaced_in_place() {
        let one = replace("# Results\n", "one", "## one\n\n1\n");
        assert_eq!(one, format!("{TITLE}\n## one\n\n1\n"));
        let two = replace(&one, "two", "## two\n\n2\n");
        assert_eq!(two, format!("{TITLE}\n## one\n\n1\n\n## two\n\n2\n"));
        let new = replace(&two, "one", "## one\n\n3\n");
        assert_eq!(new, format!("{TITLE}\n## one\n\n3\n\n## two\n\n2\n"));
    }

    #[test]
    fn the_file_says_what_is_written_by_hand() {
        assert!(include_str!("../RESULTS.md").starts_with(TITLE));
    }

    #[test]
    fn a_section_has_the_arguments_that_made_it() {
        let args = ["run", "--rounds", "3"].map(str::to_owned);
        let section = Section::new("one", String::new()).by(&args);
        assert_eq!(section.command, "cargo run --release -p greenroom-benches -- run --rounds 3");
    }

    #[test]
    fn a_part_of_the_rows_is_kept_nowhere() {
        let (none, some) = ([], ["spsc".to_owned()]);
        let out = || Some(PathBuf::from("RESULTS.md"));
        assert_eq!(whole(out(), &none), Ok(out()));
        assert_eq!(whole(None, &some), Ok(None));
        assert!(whole(out(), &some).is_err_and(|why| why.contains("`spsc`")));
    }
}
