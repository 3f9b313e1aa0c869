//! Nodes over encrypted UDP on this machine.
//!
//! One program, since most of what these tests do is wait: they wait at the same time.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod calls;
mod floods;
#[path = "../loopbacks/mod.rs"]
mod loopbacks;
#[cfg(feature = "config")]
mod membership;
#[path = "../ports/mod.rs"]
mod ports;
mod processes;
#[path = "../sessions/mod.rs"]
mod sessions;
#[path = "../stranger/mod.rs"]
mod stranger;
#[path = "../../../runtime/tests/support/mod.rs"]
mod support;
mod wakers;

use std::future::Future;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(300);

fn soon<F: Future>(future: F) -> F::Output {
    #[cfg(target_os = "linux")]
    support::afterwards::look_afterwards();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LONG, future).await.expect("in time") })
}
