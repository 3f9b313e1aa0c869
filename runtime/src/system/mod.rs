//! A system of actors: how it is built, used and ended.

mod builder;
mod config;
mod entry;
mod handle;
mod leftovers;
mod named;
mod quiet;

pub use builder::{Builder, Scheduler};
pub use config::{BuildError, Config, Idle};
pub use handle::{FindError, ShutdownError, System};
pub use quiet::BusyError;

pub use entry::{run, run_with_system};
