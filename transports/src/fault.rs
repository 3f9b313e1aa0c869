//! Planted faults: as the runtime's, of which this crate sees nothing.
//!
//! A build with `--cfg planted` has all of them, and a process is right but for the one that the environment names.

use std::ffi::OsString;
use std::sync::OnceLock;

/// What stands before the arrow; in a build with `--cfg planted`, what stands behind it in a process with
/// `GREENROOM_FAULT=name`. The book's table of planted faults names each with the check that finds it.
macro_rules! planted {
    ($name:literal: $right:expr => $wrong:expr) => {
        if cfg!(planted) && $crate::fault::is_chosen($name) { $wrong } else { $right }
    };
}
pub(crate) use planted;

/// Whether this process is to have the named fault.
pub(crate) fn is_chosen(name: &str) -> bool {
    static CHOSEN: OnceLock<Option<OsString>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var_os("GREENROOM_FAULT"));
    chosen.as_ref().is_some_and(|chosen| chosen == name)
}
