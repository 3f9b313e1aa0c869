//! The cases on simulated devices, in weather that delays and mixes completions.

use crate::cases;
use crate::ends::Bench;
use greenroom_transports::rdma::sim::{Fabric, SimDevice, Weather};
use greenroom_transports::rdma::verbs::Verbs;
use std::time::Duration;

struct Simulated(Fabric);

impl Bench for Simulated {
    type Device = SimDevice;

    fn device(&self) -> SimDevice {
        self.0.host().open("sim0", 1, 0).expect("it is there")
    }

    async fn pass(&self) {
        if let Some(next) = self.0.next_event() {
            self.0.advance(next);
        }
    }
}

/// How many seeds each case tries: GREENROOM_SEEDS, or some.
fn on_many_seeds(case: &impl AsyncFn(&Simulated)) {
    let jitter = Duration::from_micros(20);
    let weather = Weather { jitter, completion_jitter: jitter, ..Weather::fair() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let count = std::env::var("GREENROOM_SEEDS").ok();
    let count = count.map_or(20, |count| count.parse().expect("GREENROOM_SEEDS is a number"));
    for seed in 0..count {
        runtime.block_on(case(&Simulated(Fabric::new(seed, weather.clone()))));
    }
}

macro_rules! cases {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            on_many_seeds(&async |bench| cases::$name(bench).await);
        }
    )* };
}
cases! {
    a_peer_that_is_not_ready_is_told
    completions_are_of_one_queue
    datagrams_come_with_their_sender
    failing_gives_everything_back
    inline_bytes_are_copied
    misuse_is_refused
    nobody_may_reach_in
    parts_end_in_any_order
    queue_pairs_are_connected_apart
    receives_are_shared
    waiting_ends_with_a_completion
    what_is_too_long_fails_both_ends
    who_is_drained_says_so_last
}

#[test]
fn messages_come_in_order() {
    on_many_seeds(&async |bench| {
        cases::messages_come_in_order(bench, &[0, 1, 64, 9_000], 200).await;
    });
}
