//! Programs of other packages that are run beside this one, and whose figures are kept as those of its commit: so they
//! have to be built from the same sources.
//!
//! They do not know their commit. What cargo writes beside each of them, in a file `NAME.d`, says which files it was built
//! from. Where none of those has changed since the older one of the two programs was built, both are of the same ones.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs, io};

/// The program at `place`, from the folder of this one. `build` is how it is made.
///
/// # Errors
/// When it is not there, or was built from other sources than this program.
pub(crate) fn program(place: &str, build: &str) -> Result<PathBuf, String> {
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let other = this.with_file_name(place);
    if !other.exists() {
        return Err(format!("needs `{build}`"));
    }
    let changed = changed_since(&this, &other);
    match changed
        .map_err(|error| format!("{place} does not say what it was built from: {error}"))?
    {
        Some(source) => Err(format!(
            "{} has changed since {place} or this program was built: build both, {place} by `{build}`",
            source.display(),
        )),
        None => Ok(other),
    }
}

/// A source of `other` that has changed, or is gone, since one of the two programs was built.
fn changed_since(this: &Path, other: &Path) -> io::Result<Option<PathBuf>> {
    let built = time(this)?.min(time(other)?);
    let sources = sources(&fs::read_to_string(other.with_extension("d"))?);
    if sources.is_empty() {
        return Err(io::Error::other("no file is named"));
    }
    Ok(sources.into_iter().find(|source| !time(source).is_ok_and(|changed| changed <= built)))
}

fn time(file: &Path) -> io::Result<SystemTime> {
    fs::metadata(file)?.modified()
}

/// The files behind the colon of `PROGRAM: FILE FILE…`; a space within a name stands behind a backslash.
fn sources(rule: &str) -> Vec<PathBuf> {
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    let files = files.replace("\\ ", "\0");
    files.split_whitespace().map(|file| file.replace('\0', " ").into()).collect()
}

#[cfg(test)]
mod tests {
    use super::{changed_since, program, sources};
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, SystemTime};
    use std::{env, process};

    /// A folder that is gone when the test ends.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = env::temp_dir().join(format!("greenroom {name} {}", process::id()));
            fs::create_dir(&folder).unwrap();
            Self(folder)
        }

        /// A file that was changed at that second.
        fn file(&self, name: &str, second: u64) -> PathBuf {
            let path = self.0.join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
            path
        }
    }

    /// What cargo writes beside `program`.
    fn note(program: &Path, sources: &[&PathBuf]) {
        let escaped = |path: &Path| path.to_str().unwrap().replace(' ', "\\ ");
        let mut rule = format!("{}:", escaped(program));
        sources.iter().for_each(|source| rule.push_str(&format!(" {}", escaped(source))));
        fs::write(program.with_extension("d"), rule + "\n").unwrap();
    }

    #[test]
    fn a_program_of_other_sources_is_told() {
        let folder = Folder::new("beside");
        let (old, new) = (folder.file("old.rs", 10), folder.file("new.rs", 20));
        let programs = [15, 25, 35].map(|second| folder.file(&format!("at {second}"), second));
        programs.iter().for_each(|program| note(program, &[&old, &new]));
        let [before, after, later] = &programs;
        // One is pulled and built, the other is what it was.
        for (this, other) in [(after, before), (before, after)] {
            assert_eq!(changed_since(this, other).unwrap(), Some(new.clone()));
        }
        for (this, other) in [(after, later), (later, after)] {
            assert_eq!(changed_since(this, other).unwrap(), None);
        }
        fs::remove_file(&old).unwrap();
        assert_eq!(changed_since(after, later).unwrap(), Some(old));
    }

    #[test]
    fn a_program_that_does_not_say_its_sources_is_refused() {
        let folder = Folder::new("beside nothing");
        let [this, other] = ["this", "other"].map(|name| folder.file(name, 10));
        assert!(changed_since(&this, &other).is_err());
        note(&other, &[]);
        assert!(changed_since(&this, &other).is_err());
        assert_eq!(program("nowhere", "make"), Err("needs `make`".to_owned()));
    }

    #[test]
    fn names_with_spaces_are_read() {
        let expected = ["/a b/c.rs", "/d.rs"].map(PathBuf::from);
        assert_eq!(sources("/x\\ y: /a\\ b/c.rs /d.rs\n"), expected);
        assert!(sources("").is_empty());
    }
}
