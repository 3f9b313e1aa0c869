//! What `#[greenroom::main]` and `#[greenroom::test]` expand to.

use super::config::Config;
use super::handle::System;
use std::future::Future;
use std::time::Duration;

/// How long the actors of a program or test have to end after its body has.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(10);

/// Runs `future` on a tokio runtime of the calling thread.
///
/// # Panics
/// If no runtime can be made, or the thread is inside one already.
pub fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a tokio runtime can be made").block_on(future)
}

/// Builds a system from the environment, runs `body` with it, and shuts the system down.
///
/// # Panics
/// As [`run`]; if the environment has a bad setting; and if the system does not end in time.
pub fn run_with_system<F, Fut>(body: F) -> Fut::Output
where
    F: FnOnce(System) -> Fut,
    Fut: Future,
{
    let config = Config::from_env().unwrap_or_else(|error| panic!("{error}"));
    let builder = System::builder().config(&config).unwrap_or_else(|error| panic!("{error}"));
    let system = builder.build().unwrap_or_else(|error| panic!("{error}"));
    run(async {
        let output = body(system.clone()).await;
        if let Err(error) = system.shutdown(SHUTDOWN_DEADLINE).await {
            panic!("{error}");
        }
        output
    })
}
