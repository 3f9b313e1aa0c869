//! Every setting of workers, and what is wrong with one.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::host;
use crate::support::{Builds, LONG, run};
use greenroom::{BuildError, Config, System};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

#[test]
fn settings_come_from_toml() {
    let text = "workers = 2\nscheduler = 'stealing'\npinned = true\nthread_name = 'toml'\n\
                stack_bytes = 1048576\nbatch = 8\nslice_us = 70\nspin_us = 5\nask_timeout_ms = 30\n\
                handler_budget_ms = 0";
    let config = Config::from_toml(text).unwrap();
    assert_eq!((config.workers, config.ask_timeout_ms), (Some(2), Some(30)));
    run(async {
        let system = System::builder().workers(7).config(&config).unwrap().own_as_set();
        let host = host(&system).await;
        let [worker, _] = host.block().within(LONG).await.unwrap();
        assert!(["toml-0", "toml-1"].contains(&worker.as_str()), "{worker}");
        let barrier = Arc::new(Barrier::new(2));
        let late = host.meet_later(barrier).await;
        assert_eq!(late, Err(greenroom::AskError::Expired), "after 30 ms");
        host.kill();
        system.shutdown(LONG).await.unwrap();
    });
}

#[test]
fn wrong_settings_are_errors_that_name_them() {
    let error = |built: Result<System, BuildError>| match built {
        Err(error @ BuildError::Config(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let builder = System::builder;
    assert!(error(builder().workers(0).build()).contains("workers"));
    assert!(error(builder().workers(1025).build()).contains("workers"));
    assert!(error(builder().workers(1).batch(0).build()).contains("batch"));
    for bytes in [10, (64 << 10) - 1, usize::MAX] {
        let built = builder().workers(1).stack_bytes(bytes).build();
        assert!(error(built).contains("stack_bytes must be a number between 65536"));
    }
    let narrow = builder().workers(1).stack_bytes(64 << 10).build().expect("it is enough");
    run(async { narrow.shutdown(LONG).await.unwrap() });
    let hasty = builder().workers(1).handler_budget(Duration::from_micros(999));
    assert!(error(hasty.build()).contains("handler_budget"));
    assert!(error(builder().workers(1).thread_name("a\0b").build()).contains("thread_name"));
    for (text, named) in [
        ("workers = 'two'", "workers"),
        ("worker = 2", "worker"),
        ("workers = ", "workers"),
        ("batch = -1", "batch"),
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    let unknown = Config::from_toml("scheduler = 'magic'").unwrap();
    let error = builder().config(&unknown).unwrap_err().to_string();
    assert!(error.contains("magic") && error.contains("stealing"), "{error}");
}

#[test]
#[cfg_attr(sanitized, ignore = "the sanitizers end a process that cannot have a thread")]
fn a_worker_that_cannot_be_started_is_an_error_inside_a_runtime_too() {
    run(async {
        // More than there are addresses.
        let built = System::builder().workers(2).stack_bytes(1 << 47).build();
        assert!(matches!(built, Err(BuildError::Worker(_))), "{built:?}");
    });
}
