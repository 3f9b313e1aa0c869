//! Lanes of the engine over simulated queue pairs, between two and three nodes: whatever the devices do,
//! every message comes once and in order, also when a lane goes on over another connection.

#[path = "../pair/history.rs"]
#[allow(dead_code, reason = "the other users need the rest")]
mod history;
mod world;

use greenroom_transports::rdma::sim::Weather;
use std::time::Duration;
use world::{Carrier, Dice, World};

/// How many seeds each test tries: GREENROOM_SEEDS, or some.
fn each_seed(mut run: impl FnMut(u64)) {
    let count = std::env::var("GREENROOM_SEEDS").ok();
    let count = count.map_or(100, |count| count.parse().expect("GREENROOM_SEEDS is a number"));
    for seed in 0..count {
        let run = std::panic::AssertUnwindSafe(|| run(seed));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}

fn weather(dice: &mut Dice) -> Weather {
    Weather {
        latency: Duration::from_nanos(500 + dice.below(20_000)),
        jitter: Duration::from_nanos([0, 5000, 200_000][dice.below(3) as usize]),
        completion_jitter: Duration::from_nanos([0, 5000, 100_000][dice.below(3) as usize]),
        ..Weather::fair()
    }
}

// [RDMA-14] [LINK-24]
#[test]
fn over_connections_everything_arrives_once_and_in_order() {
    each_seed(|seed| {
        let mut dice = Dice::new(seed);
        let nodes = 2 + dice.below(2) as usize;
        let weather =
            Weather { message_loss_permille: [0, 5][dice.below(2) as usize], ..weather(&mut dice) };
        let guesses = dice.below(2) > 0;
        let mut world = World::new(seed, nodes, weather, Carrier::Connected { guesses });
        world.run();
        assert_eq!(world.breaks, 0);
        assert!(guesses || world.packets_lost() == 0, "nothing is taken for lost");
        assert_eq!(world.not_ready(), 0);
    });
}

// [RDMA-15] [LINK-34]
#[test]
fn over_connections_that_fail_everything_arrives_once_and_in_order() {
    let mut breaks = 0;
    each_seed(|seed| {
        let mut dice = Dice::new(seed ^ 0xbad);
        let nodes = 2 + dice.below(2) as usize;
        let unready = [0, 20][dice.below(2) as usize];
        let weather = Weather {
            failures_ppm: 5000,
            message_loss_permille: [0, 20][dice.below(2) as usize],
            not_ready_permille: unready,
            ..weather(&mut dice)
        };
        let guesses = dice.below(2) > 0;
        let mut world = World::new(seed, nodes, weather, Carrier::Connected { guesses });
        world.run();
        breaks += world.breaks;
        assert!(unready > 0 || world.not_ready() == 0);
    });
    assert!(breaks > 50, "the devices failed too rarely: {breaks}");
}

// [RDMA-20] [RDMA-22]
#[test]
fn over_datagrams_that_are_lost_everything_arrives_once_and_in_order() {
    let mut lost = 0;
    each_seed(|seed| {
        let mut dice = Dice::new(seed ^ 0x10af);
        let nodes = 2 + dice.below(2) as usize;
        let weather = Weather {
            datagram_loss_permille: [0, 10, 100][dice.below(3) as usize],
            path_mtu_bytes: [1300, 2048, 4096][dice.below(3) as usize],
            ..weather(&mut dice)
        };
        let mut world = World::new(seed, nodes, weather, Carrier::Datagrams);
        world.run();
        lost += world.packets_lost();
    });
    assert!(lost > 50, "the devices lost too little: {lost}");
}
