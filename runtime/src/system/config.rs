//! Every setting of a system, with its default and unit; from code, TOML and the environment, but for the seed,
//! which is set in code alone.

use crate::event::Events;
use crate::queue::level::Level;
use crate::scheduler::ReadyQueue;
use crate::sync::Arc;
use serde::Deserialize;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// Workers in one system.
pub(super) const WORKERS: RangeInclusive<usize> = 1..=1024;
/// A worker's stack: with less, the runtime's own calls do not fit; more is no size that memory can have.
pub(super) const STACK_BYTES: RangeInclusive<usize> = 64 << 10..=usize::MAX / 2;
/// Messages in one turn.
pub(super) const BATCH: RangeInclusive<u32> = 1..=u32::MAX;
/// What may wait in mailboxes, in messages or bytes.
pub(super) const WAITING: RangeInclusive<usize> = 1..=Level::MAX;
/// Times, of which the runtime makes what it can.
const TIME: RangeInclusive<u64> = 0..=u64::MAX;

/// What a worker does when it has nothing to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Idle {
    /// Sleeps at once, until a message, socket or timer wakes it. Where other nodes have sent something within some tens of
    /// microseconds each time lately, and each worker has a core, the worker that they wake looks for 50 µs first.
    Park,
    /// Looks for work and at its sockets this long first: saves the wake-up when a message, from a thread or
    /// from another node, comes soon, and burns CPU. As [`Park`](Self::Park) where there are more workers than
    /// cores.
    Spin(Duration),
}

/// A system's settings as text: the keys of a TOML file, or of variables `GREENROOM_…`.
///
/// ```
/// let config = greenroom::Config::from_toml("workers = 2\nscheduler = 'locked'\nslice_us = 100")?;
/// let system = greenroom::System::builder().config(&config)?.build()?;
/// # drop(system);
/// # Ok::<(), greenroom::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// Worker threads; one per core by default.
    pub workers: Option<usize>,
    /// `locked`, `lock_free`, `stealing`, `per_core` or `auto`; `per_core` takes at most 62 workers.
    pub scheduler: Option<String>,
    /// Whether each worker is pinned to a core; no by default.
    pub pinned: Option<bool>,
    /// What worker threads are called, before their number; `greenroom` by default.
    pub thread_name: Option<String>,
    /// Stack of each worker in bytes; 8 MiB by default.
    pub stack_bytes: Option<usize>,
    /// Messages in one turn, more while mail grows; 64 by default.
    pub batch: Option<u32>,
    /// How long a worker runs actors before it polls tokio, and one actor before the next has its turn (longer where
    /// messages take longer), in microseconds; 50 by default.
    pub slice_us: Option<u64>,
    /// How long an idle worker looks for work before it sleeps, and a plain thread for an answer, in microseconds; 0 for
    /// workers that sleep at once.
    pub spin_us: Option<u64>,
    /// How long an `ask` waits by default, in milliseconds; 5000 by default.
    pub ask_timeout_ms: Option<u64>,
    /// How long a handler may keep its worker before that is an event, in milliseconds; 0 for ever;
    /// 100 by default.
    pub handler_budget_ms: Option<u64>,
    /// Messages that may wait in all mailboxes together; unlimited by default.
    pub budget_messages: Option<usize>,
    /// Bytes that may wait in all mailboxes together; unlimited by default.
    pub budget_bytes: Option<usize>,
    /// Messages that wait for an actor when it is overloaded, unless it declares a number; none by
    /// default.
    pub overload_messages: Option<usize>,
}

impl Config {
    /// Reads settings from TOML.
    ///
    /// # Errors
    /// [`BuildError::Config`] for malformed text, an unknown key or a wrong type.
    pub fn from_toml(text: &str) -> Result<Self, BuildError> {
        toml::from_str(text).map_err(|error| BuildError::Config(error.to_string()))
    }

    /// Reads settings from the environment: each key in capitals after `GREENROOM_`.
    ///
    /// # Errors
    /// [`BuildError::Config`] for a value of the wrong type or out of range; it names the variable and says what may be
    /// there.
    pub fn from_env() -> Result<Self, BuildError> {
        Self::from_vars(|key| std::env::var(key).ok())
    }

    fn from_vars(get: impl Fn(&str) -> Option<String>) -> Result<Self, BuildError> {
        Ok(Self {
            workers: read(&get, "GREENROOM_WORKERS", &WORKERS)?,
            scheduler: get("GREENROOM_SCHEDULER"),
            pinned: read_flag(&get, "GREENROOM_PINNED")?,
            thread_name: get("GREENROOM_THREAD_NAME"),
            stack_bytes: read(&get, "GREENROOM_STACK_BYTES", &STACK_BYTES)?,
            batch: read(&get, "GREENROOM_BATCH", &BATCH)?,
            slice_us: read(&get, "GREENROOM_SLICE_US", &TIME)?,
            spin_us: read(&get, "GREENROOM_SPIN_US", &TIME)?,
            ask_timeout_ms: read(&get, "GREENROOM_ASK_TIMEOUT_MS", &TIME)?,
            handler_budget_ms: read(&get, "GREENROOM_HANDLER_BUDGET_MS", &TIME)?,
            budget_messages: read(&get, "GREENROOM_BUDGET_MESSAGES", &WAITING)?,
            budget_bytes: read(&get, "GREENROOM_BUDGET_BYTES", &WAITING)?,
            overload_messages: read(&get, "GREENROOM_OVERLOAD_MESSAGES", &WAITING)?,
        })
    }
}

/// The number that a variable has, if it is there.
fn read<T: FromStr + PartialOrd + fmt::Display>(
    get: impl Fn(&str) -> Option<String>,
    key: &str,
    range: &RangeInclusive<T>,
) -> Result<Option<T>, BuildError> {
    let Some(text) = get(key) else { return Ok(None) };
    match text.parse() {
        Ok(value) if range.contains(&value) => Ok(Some(value)),
        _ => Err(wrong(&format!("{key}={text}: it"), range)),
    }
}

fn read_flag(get: impl Fn(&str) -> Option<String>, key: &str) -> Result<Option<bool>, BuildError> {
    let Some(text) = get(key) else { return Ok(None) };
    let wrong = |_| BuildError::Config(format!("{key}={text}: it must be true or false"));
    text.parse().map(Some).map_err(wrong)
}

/// Refuses a setting that is out of range.
pub(super) fn check<T: PartialOrd + fmt::Display>(
    name: &str,
    value: &T,
    range: &RangeInclusive<T>,
) -> Result<(), BuildError> {
    if range.contains(value) { Ok(()) } else { Err(wrong(name, range)) }
}

fn wrong<T: fmt::Display>(what: &str, range: &RangeInclusive<T>) -> BuildError {
    let (least, most) = (range.start(), range.end());
    BuildError::Config(format!("{what} must be a number between {least} and {most}"))
}

/// Why a system could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting is malformed or out of range; the text says which.
    #[error("bad setting: {0}")]
    Config(String),
    /// A worker's thread or runtime could not be made.
    #[error("cannot start a worker: {0}")]
    Worker(#[from] io::Error),
}

/// A ready queue to be made for a number of workers; what happens to it is told by the events.
pub(crate) type MakeQueue = Box<dyn FnOnce(usize, &Arc<Events>) -> Box<dyn ReadyQueue> + Send>;

/// Opaque: a queue's maker.
pub(crate) struct Maker(pub(crate) MakeQueue);

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

#[cfg(test)]
mod tests {
    use super::Config;

    #[test]
    fn the_environment_has_every_key_of_the_file() {
        let file = "workers = 3\nscheduler = 'locked'\npinned = true\nthread_name = 'w'\n\
                    stack_bytes = 65536\nbatch = 8\nslice_us = 70\nspin_us = 5\nask_timeout_ms = 9\n\
                    handler_budget_ms = 250\nbudget_messages = 1000\nbudget_bytes = 65536\n\
                    overload_messages = 100";
        let value = |key: &str| {
            let key = key.strip_prefix("GREENROOM_")?.to_lowercase();
            let line = file.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")))?;
            Some(line.trim_matches('\'').to_owned())
        };
        let from_file = Config::from_toml(file).unwrap();
        assert_eq!(Config::from_vars(value).unwrap(), from_file);
        assert!(from_file.ask_timeout_ms.is_some() && from_file.workers == Some(3));
        assert_eq!(from_file.handler_budget_ms, Some(250));
        assert_eq!((from_file.budget_messages, from_file.budget_bytes), (Some(1000), Some(65536)));
        assert_eq!(from_file.overload_messages, Some(100));
    }

    #[test]
    fn wrong_types_and_unknown_keys_are_errors() {
        assert!(Config::from_toml("worker = 1").is_err());
        assert!(Config::from_toml("workers = 'two'").is_err());
    }

    #[test]
    fn a_wrong_variable_is_named_with_what_may_be_there() {
        for (key, text, expected) in [
            ("BATCH", "many", "a number between 1 and 4294967295"),
            ("BATCH", "0", "a number between 1 and 4294967295"),
            ("WORKERS", "1025", "a number between 1 and 1024"),
            ("STACK_BYTES", "10", "a number between 65536 and"),
            ("BUDGET_BYTES", "0", "a number between 1 and"),
            ("SPIN_US", "-1", "a number between 0 and"),
            ("PINNED", "yes", "true or false"),
        ] {
            let key = format!("GREENROOM_{key}");
            let error = Config::from_vars(|asked| (asked == key).then(|| text.to_owned()));
            let error = error.unwrap_err().to_string();
            let wanted = format!("bad setting: {key}={text}: it must be {expected}");
            assert!(error.starts_with(&wanted), "{error}");
        }
    }
}
