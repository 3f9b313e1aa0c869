//! Reads the repository as text, for the tests that check its form.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository.
pub(crate) struct Source {
    /// Where it lies, from the repository's root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// Whether the file holds tests, models or measurements rather than what users build.
    pub(crate) fn is_test(&self) -> bool {
        ["/tests/", "/benches/"].iter().any(|folder| self.path.contains(folder))
            || ["/tests.rs", "/model.rs"].iter().any(|name| self.path.ends_with(name))
    }
}

/// The files below `folder` that end in `.extension`, in the order of their paths.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("runtime/ lies in the root");
    let mut found = Vec::new();
    walk(&root.join(folder), &mut found);
    found.retain(|path| path.extension().is_some_and(|it| it == extension));
    found.sort();
    let read = |path: &PathBuf| Source {
        path: path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/"),
        text: fs::read_to_string(path).expect("a source file is UTF-8"),
    };
    found.iter().map(read).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !path.is_dir() {
            found.push(path);
        } else if name != "target" && name != ".git" {
            walk(&path, found);
        }
    }
}
