//! Two ends of a lane and a network that loses, doubles, delays, reorders, cuts and is silent: whatever it
//! does, the rules of section 8 of the link's specification hold. Every run follows from its seed.

mod beside;
mod cases;
mod history;
mod world;

use greenroom_transports::link::{CloseReason, Config, End, Time};
use std::time::Duration;
use world::{Dice, Network, Work, World, ms};

/// How many seeds each test tries: GREENROOM_LINK_SEEDS, or few.
fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("GREENROOM_LINK_SEEDS").ok();
    0..count.map_or(150, |count| count.parse().expect("GREENROOM_LINK_SEEDS is a number"))
}

fn work(dice: &mut Dice) -> Work {
    Work {
        messages: dice.below(400),
        actors: 1 + dice.below(8),
        long_percent: [0, 5, 40][dice.below(3) as usize],
        long_max: [2000, 100_000][dice.below(2) as usize],
        pace_percent: [30, 80, 99][dice.below(3) as usize],
        window: [1, 32, u32::MAX][dice.below(3) as usize],
    }
}

/// The network does its worst until then, and is well afterwards.
const FAULTS_UNTIL: Time = Time::from_nanos(4_000_000_000);

/// By then a network that is well has carried everything.
const DONE_BY: Time = Time::from_nanos(120_000_000_000);

/// Small windows, so that credit runs out.
fn config(dice: &mut Dice) -> Config {
    let small = Config {
        window_bytes_start: 12_000,
        window_bytes_max: 140_000,
        message_len_max: 101_000,
        window_messages: 64,
        mailbox_messages_start: Some(4),
        reassemblies_max: 3,
        skip_every: 20,
        ..Config::default()
    };
    let large = Config { message_len_max: 101_000, ..Config::default() };
    if dice.chance(60) { small } else { large }
}

fn drawn(seed: u64) -> World {
    let mut dice = Dice::new(seed ^ 0x5eed);
    let network = Network::drawn(&mut dice);
    let works = [work(&mut dice), work(&mut dice)];
    let config = config(&mut dice);
    World::new(seed, network, works, &config)
}

/// Says which seed failed, whatever panics.
fn each_seed(run: impl Fn(u64) + std::panic::RefUnwindSafe) {
    for seed in seeds() {
        if let Err(panic) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}

// [LINK-50] [LINK-52] [LINK-55] [LINK-60] [LINK-63]
#[test]
fn whatever_the_network_does_everything_arrives_once_and_in_order() {
    each_seed(|seed| {
        let mut world = drawn(seed);
        world.run(FAULTS_UNTIL);
        world.calm();
        world.run(DONE_BY);
        assert!(world.is_done(), "not done at {:?}", world.now);
        for from in 0..2 {
            assert_eq!(world.sides[from].end, None);
            world.history.check_all_delivered(from);
            assert_eq!(world.history.accepted(from), world.sent(from));
        }
    });
}

// [LINK-52]
#[test]
fn packets_of_long_ago_do_nothing() {
    each_seed(|seed| {
        let mut world = drawn(seed);
        world.run(ms(300));
        world.replay();
        world.run(FAULTS_UNTIL);
        world.calm();
        world.run(DONE_BY);
        let delivered = [0, 1].map(|from| world.history.delivered(from));
        world.replay();
        assert_eq!(delivered, [0, 1].map(|from| world.history.delivered(from)));
        assert!(world.is_done());
    });
}

// [LINK-73] [LINK-74]
#[test]
fn at_a_close_everything_is_delivered_or_reported() {
    each_seed(|seed| {
        let mut world = drawn(seed);
        let at = ms(world.dice.below(1200));
        world.run(at);
        world.close(0, at, CloseReason::Shutdown);
        world.run(at + Duration::from_secs(60));
        assert_eq!(world.sides[0].end, Some(End::Closed(CloseReason::Shutdown)));
        let heard = [Some(End::ClosedByPeer(CloseReason::Shutdown)), Some(End::Silent)];
        assert!(heard.contains(&world.sides[1].end), "{:?}", world.sides[1].end);
        for from in 0..2 {
            let reported = world.undelivered(from);
            world.history.check_reported(from, &reported);
        }
    });
}

// [LINK-70] [LINK-74]
#[test]
fn whom_nobody_hears_is_dead_in_time() {
    each_seed(|seed| {
        let mut dice = Dice::new(seed);
        let works = [work(&mut dice), work(&mut dice)];
        let cut = ms(dice.below(300));
        let mut network = Network::calm();
        // Both ways, or one of them: then the other end hears nothing either, or closes.
        network.silences = [Some((cut, ms(u64::MAX / 1_000_000))), None];
        if dice.chance(50) {
            network.silences[1] = network.silences[0];
        }
        let config = config(&mut dice);
        let mut world = World::new(seed, network, works, &config);
        world.run_until(ms(60_000), |world| world.sides[1].end.is_some());
        assert_eq!(world.sides[1].end, Some(End::Silent));
        let silence = world.now.since(cut);
        assert!(silence <= config.dead_after + Duration::from_millis(200), "{silence:?}");
        let reported = world.undelivered(1);
        world.history.check_reported(1, &reported);
    });
}

// [LINK-41] [LINK-42]
#[test]
fn a_receiver_that_takes_nothing_holds_no_more_than_it_granted() {
    each_seed(|seed| {
        let mut dice = Dice::new(seed);
        let mut works = [work(&mut dice), work(&mut dice)];
        for work in &mut works {
            (work.pace_percent, work.messages) = (0, 2000);
        }
        let config = config(&mut dice);
        let network = Network::drawn(&mut dice);
        let mut world = World::new(seed, network, works, &config);
        for _ in 0..20 {
            world.run(world.now + Duration::from_millis(100));
            for side in &world.sides {
                assert_eq!(side.end, None);
                assert!(side.lane.bytes_held() <= 2 * config.window_bytes_max);
            }
        }
    });
}
