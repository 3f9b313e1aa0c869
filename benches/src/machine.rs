//! Where a figure comes from: processor, cores, kernel, compiler, commit.

use std::fs;
use std::process::Command;
use std::thread;

/// How many threads can run at once; 1 when the system does not say.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, Into::into)
}

/// One line: processor, cores, kernel, compiler, commit, with `?` for what cannot be found out.
#[must_use]
pub fn line() -> String {
    let cores = cores();
    let dirty = output("git", &["status", "--porcelain"]).is_some_and(|files| !files.is_empty());
    format!(
        "{}, {cores} cores, Linux {}, {}, commit {}{}",
        processor().unwrap_or_else(|| "?".into()),
        read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "?".into()),
        output("rustc", &["--version"]).unwrap_or_else(|| "rustc ?".into()),
        output("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "?".into()),
        if dirty { " with changes" } else { "" },
    )
}

/// How many threads wanted to run in the last minute; above zero before a measurement means that
/// others share the machine.
#[must_use]
pub fn load() -> String {
    let loads = read("/proc/loadavg").unwrap_or_default();
    loads.split_whitespace().next().unwrap_or("?").to_owned()
}

fn processor() -> Option<String> {
    let info = read("/proc/cpuinfo")?;
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    Some(format!("{} at {} MHz", field("model name")?, field("cpu MHz")?))
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
