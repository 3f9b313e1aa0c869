//! Planted faults: places where the code can be made wrong, so that the checks are checked.
//!
//! A build with `--cfg planted` has all of them, and a process is right but for the one that the environment names.
//! In every other build they are nothing: what is wrong is not even asked for.

use std::ffi::OsString;
use std::sync::OnceLock;

/// What stands before the arrow; in a build with `--cfg planted`, what stands behind it in a process with
/// `GREENROOM_FAULT=name`. `book/src/internals/models.md` says which check finds each fault.
macro_rules! planted {
    ($name:literal: $right:expr => $wrong:expr) => {
        if cfg!(planted) && $crate::sync::is_chosen($name) { $wrong } else { $right }
    };
}
pub(crate) use planted;

/// Whether this process is to have the named fault. Not through the [door](super): to look is no step that a model
/// checker may count.
pub(crate) fn is_chosen(name: &str) -> bool {
    static CHOSEN: OnceLock<Option<OsString>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var_os("GREENROOM_FAULT"));
    chosen.as_ref().is_some_and(|chosen| chosen == name)
}
