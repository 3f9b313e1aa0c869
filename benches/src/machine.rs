//! Where a figure comes from: processor, cores, kernel, compiler, commit.

use crate::core_to_core;
use std::fs;
use std::sync::OnceLock;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// What stands beside every figure; `?` and `None` for what cannot be found out.
#[derive(Debug)]
pub struct Machine {
    /// The processor and its clock.
    pub cpu: String,
    /// How many threads can run at once.
    pub cores: usize,
    /// Its memory.
    pub ram_bytes: Option<i64>,
    /// By which rule the kernel chooses the processor's clock; `None` where it does not.
    pub governor: Option<String>,
    /// A line's way from one core to another, where there are two.
    pub core_to_core_ns: Option<f64>,
    /// The kernel's release.
    pub kernel: String,
    /// The compiler that built this program.
    pub rustc: String,
    /// The profile and the flags that it was built with.
    pub flags: String,
    /// The commit that this program was built from, and whether files differed from it.
    pub commit: String,
    /// By which rule this process gets a core, where it is not the usual one.
    pub policy: Option<String>,
    /// When this was asked first, since 1970.
    pub time_ms: Option<i64>,
    /// How many threads wanted to run in the minute before; above zero before a measurement means that
    /// others share the machine.
    pub load: Option<f64>,
}

/// The commit that this program was built from, and whether files differed from it.
pub(crate) const COMMIT: &str = env!("BENCH_COMMIT");

/// The facts about this machine, found out once, when they are first asked for.
pub fn facts() -> &'static Machine {
    static FACTS: OnceLock<Machine> = OnceLock::new();
    FACTS.get_or_init(Machine::look)
}

/// How many threads can run at once; 1 when the system does not say.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, Into::into)
}

impl Machine {
    fn look() -> Self {
        // First of all, as looking around is work too.
        let load = read("/proc/loadavg");
        let load = load.and_then(|load| load.split_whitespace().next()?.parse().ok());
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Self {
            cpu: processor().unwrap_or_else(|| "?".into()),
            cores: cores(),
            ram_bytes: read("/proc/meminfo").and_then(|info| ram_bytes(&info)),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            core_to_core_ns: core_to_core::one_way_ns(),
            kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "?".into()),
            rustc: env!("BENCH_RUSTC").to_owned(),
            flags: env!("BENCH_FLAGS").to_owned(),
            commit: COMMIT.to_owned(),
            policy: read("/proc/self/stat").and_then(|stat| policy(&stat)),
            time_ms: since_1970.and_then(|time| i64::try_from(time.as_millis()).ok()),
            load,
        }
    }

    /// All of it in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { cpu, cores, kernel, rustc, flags, commit, .. } = self;
        let named = |name: &str, value: &Option<String>| {
            value.as_ref().map_or_else(String::new, |value| format!(", {name}{value}"))
        };
        let known = |value: Option<f64>, digits| {
            value.map_or_else(|| "?".to_owned(), |value| format!("{value:.digits$}"))
        };
        format!(
            "{cpu}, {cores} cores, {} GiB, core to core {} ns, Linux {kernel}, {rustc}, {flags}, commit \
             {commit}, load before {}{}{}",
            self.ram_bytes.map_or_else(|| "?".to_owned(), |bytes| (bytes >> 30).to_string()),
            known(self.core_to_core_ns, 0),
            known(self.load, 2),
            named("governor ", &self.governor),
            named("", &self.policy),
        )
    }
}

/// The memory that the text of `/proc/meminfo` tells.
fn ram_bytes(info: &str) -> Option<i64> {
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok()?.checked_mul(1024)
}

/// The scheduling policy and its priority in the text of `/proc/self/stat`; `None` for the usual one.
fn policy(stat: &str) -> Option<String> {
    // The name of the program, in parentheses, may hold spaces; the state behind them is the third field of the manual.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
    let (priority, policy) = (field(40)?, field(41)?);
    match policy {
        0 => None,
        1 => Some(format!("SCHED_FIFO {priority}")),
        2 => Some(format!("SCHED_RR {priority}")),
        3 => Some("SCHED_BATCH".to_owned()),
        5 => Some("SCHED_IDLE".to_owned()),
        other => Some(format!("scheduling policy {other}")),
    }
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

#[cfg(test)]
mod tests {
    use super::{COMMIT, policy, ram_bytes};

    #[test]
    fn memory_is_told_in_bytes() {
        assert_eq!(ram_bytes("MemTotal:       24635484 kB\nMemFree: 1 kB\n"), Some(25_226_735_616));
        assert_eq!(ram_bytes("no such file"), None);
    }

    #[test]
    fn the_commit_is_that_of_the_build() {
        let told = COMMIT.split(' ').next().unwrap();
        let is_hash = told.len() >= 7 && told.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(told == "?" || is_hash, "{told}");
    }

    #[test]
    fn an_unusual_policy_is_named() {
        let stat =
            |priority, policy| format!("7 (a (b) c) R {}{priority} {policy} 0", "0 ".repeat(36));
        assert_eq!(policy(&stat(0, 0)), None);
        assert_eq!(policy(&stat(50, 2)).as_deref(), Some("SCHED_RR 50"));
        assert_eq!(policy(&stat(1, 1)).as_deref(), Some("SCHED_FIFO 1"));
        assert_eq!(policy("no such file"), None);
    }
}
