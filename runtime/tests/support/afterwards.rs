//! The last look at a test program: when all of its tests are over, neither a thread nor a file of theirs is left. Tests
//! run side by side and share both, so that one alone cannot be asked.

use std::fs;
use std::path::Path;
use std::sync::Once;
use std::thread;
use std::time::Duration;

/// How often the look is had again, since a thread that was joined is still seen for a moment.
const LOOKS: usize = 2_000;
const BETWEEN: Duration = Duration::from_millis(5);
/// Of a file in `/proc/self/fdinfo`: whatever Rust opens has it, and nothing that a process was given.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;
/// ThreadSanitizer has one of its own.
const THREADS: usize = if cfg!(sanitized = "thread") { 2 } else { 1 };

unsafe extern "C" {
    /// Of C: has the function called when the process exits.
    safe fn atexit(function: extern "C" fn()) -> i32;
}

/// Has this program fail if something is left when its tests are over.
pub(crate) fn look_afterwards() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| assert_eq!(atexit(look), 0, "there is room for one function"));
}

extern "C" fn look() {
    let mut left = left();
    for _ in 0..LOOKS {
        if left.is_empty() {
            return;
        }
        thread::park_timeout(BETWEEN);
        left = self::left();
    }
    eprintln!("the tests are over, and left behind {left:#?}");
    std::process::abort();
}

/// Threads beside the one that exits, and files that were opened here.
fn left() -> Vec<String> {
    let mut left: Vec<String> =
        names("/proc/self/fd").iter().filter_map(|number| file(number)).collect();
    let threads = names("/proc/self/task");
    if threads.len() > THREADS {
        let name = |thread| fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
        left.extend(
            threads
                .iter()
                .filter_map(|thread| name(thread).ok())
                .map(|name| format!("thread {}", name.trim())),
        );
    }
    left
}

/// What there is in a folder, which is closed again.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The open file of that number, if it was opened here.
fn file(number: &str) -> Option<String> {
    let about = fs::read_to_string(Path::new("/proc/self/fdinfo").join(number)).ok()?;
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let is_ours = u32::from_str_radix(flags.trim(), 8).ok()? & CLOSE_ON_EXEC != 0;
    let of = fs::read_link(Path::new("/proc/self/fd").join(number)).ok()?.display().to_string();
    (is_ours && !is_for_signals(&of)).then(|| format!("file {number}, {of}"))
}

/// Whether it is one of the pair of sockets by which tokio hears of signals, which a process has once and keeps: no other
/// here is of Unix.
fn is_for_signals(of: &str) -> bool {
    let inode = of.strip_prefix("socket:[").and_then(|of| of.strip_suffix(']'));
    let all = fs::read_to_string("/proc/self/net/unix").unwrap_or_default();
    inode.is_some_and(|inode| all.lines().any(|line| line.split_whitespace().last() == Some(inode)))
}
