//! Child processes that may not hang: a measurement that never ends is a finding, not a reason to wait.

use std::io;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often the end is looked for; the child takes its own time, so this delays only the next one.
const LOOKING_EVERY: Duration = Duration::from_millis(2);

/// Runs `command` to its end and returns what it printed.
///
/// # Errors
/// When it cannot be started, or still runs after `limit`; it is then killed. What it prints has to fit
/// into a pipe.
pub fn output(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let clock = Instant::now();
    while child.try_wait()?.is_none() {
        if clock.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            let limit = limit.as_secs();
            return Err(io::Error::other(format!("still ran after {limit} s")));
        }
        sleep(LOOKING_EVERY);
    }
    child.wait_with_output()
}
