//! What this process used of the machine.

use std::fs;

/// What all threads of this process, or one of them, used since they started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    /// Time on a processor.
    pub(crate) nanos: u64,
    /// How often a thread was switched to.
    pub(crate) switches: u64,
}

impl Used {
    /// All threads that live; `None` when the system does not say.
    pub(crate) fn by_process() -> Option<Self> {
        let mut used = Self::default();
        for thread in fs::read_dir("/proc/self/task").ok()? {
            used.add(&thread.ok()?.path().to_string_lossy())?;
        }
        Some(used)
    }

    /// The calling thread alone.
    pub(crate) fn by_thread() -> Option<Self> {
        let mut used = Self::default();
        used.add("/proc/thread-self")?;
        Some(used)
    }

    fn add(&mut self, folder: &str) -> Option<()> {
        // Time on a processor, in nanoseconds, is the first of three numbers.
        let times = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
        self.nanos += times.split_whitespace().next()?.parse::<u64>().ok()?;
        let status = fs::read_to_string(format!("{folder}/status")).ok()?;
        let switches = status.lines().filter_map(|line| line.split_once("_ctxt_switches:"));
        for (_, count) in switches {
            self.switches += count.trim().parse::<u64>().ok()?;
        }
        Some(())
    }
}

/// Memory that this process has in use, in bytes; `None` when the system does not say.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}
