//! Whole lives of nodes, by seed: everything goes wrong for a while, then nothing, and then every pair of
//! nodes must be able to talk. `GREENROOM_SEEDS` says how many seeds, `GREENROOM_SEED` which one alone.

use super::world::{CALM, Weather, World};
use super::*;
use crate::secure::wire::Suite;

const SEEDS: u64 = 10;

fn seeds() -> Range<u64> {
    let number =
        |name| std::env::var(name).ok().map(|value: String| value.parse().expect("a number"));
    match number("GREENROOM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("GREENROOM_SEEDS").unwrap_or(SEEDS),
    }
}

/// Says how to repeat what fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat: GREENROOM_SEED={}", self.0);
        }
    }
}

fn weather(random: &mut Seeded) -> Weather {
    let some = |random: &mut Seeded, most| if random.chance(50) { random.below(most) } else { 0 };
    Weather {
        loss: some(random, 40),
        duplicates: some(random, 30),
        corruption: some(random, 30),
        delay_ms: 1 + some(random, 600),
    }
}

/// Short times, so that keys are renewed and dropped many times in a short life.
fn config(random: &mut Seeded) -> Config {
    Config {
        suite: if cfg!(feature = "pq") && random.chance(25) {
            Suite::Hybrid
        } else {
            Suite::Classic
        },
        load_rate: crate::secure::limit::Rate::per_second(
            2,
            if random.chance(30) { 0 } else { 50 },
        ),
        rekey_after: Duration::from_secs(8),
        reject_after: Duration::from_secs(20),
        linger: Duration::from_secs(1),
        rekey_packets: if random.chance(30) { 10 } else { 1 << 40 },
        ..Config::default()
    }
}

fn storm(world: &mut World, hosts: usize) {
    let any = |world: &mut World| world.random.below(hosts as u64) as usize;
    for _ in 0..60 {
        match world.random.below(20) {
            0 => {
                let place = any(world);
                world.restart(place);
            }
            1 => {
                let place = any(world);
                world.move_away(place);
            }
            2..=5 => {
                let (from, to) = (any(world), any(world));
                if from != to {
                    world.connect(from, to);
                }
            }
            6 | 7 => {
                let place = any(world);
                let (now, associations) = (world.now, world.nodes[place].up.clone());
                for id in associations.into_keys() {
                    world.nodes[place].endpoint.rekey(now, id).unwrap();
                }
                world.flush();
            }
            8 => world.weather = weather(&mut world.random),
            _ => {
                let place = any(world);
                world.speak(place);
            }
        }
        let pause = Duration::from_millis(world.random.below(700));
        world.run(world.now + pause);
    }
}

/// Rows 14, 16, 18, 21, 23 and 27, on every seed.
#[test]
fn whatever_happens_nodes_find_each_other_again_and_nothing_comes_twice() {
    let mut delivered = 0;
    for seed in seeds() {
        let mut random = Seeded(seed ^ 0x5EED);
        let hosts = 2 + random.below(2) as u8;
        let (config, weather) = (config(&mut random), weather(&mut random));
        let _named = Named(seed);
        let mut world = World::new(seed, hosts, config, weather);
        world.connect(0, 1);
        storm(&mut world, usize::from(hosts));
        world.weather = CALM;
        // Whatever is left of the storm ends within the age of keys; then everybody connects anew.
        world.run(world.now + Duration::from_secs(25));
        for (from, to) in [(0, 1), (1, 0)] {
            world.connect(from, to);
            world.run(world.now + Duration::from_secs(12));
        }
        let before = world.delivered.len();
        let up = |world: &World, from: usize, to: usize| {
            let peer = world.nodes[to].endpoint.public();
            world.nodes[from].up.values().any(|(other, _)| *other == peer)
        };
        assert!(up(&world, 0, 1) && up(&world, 1, 0), "seed {seed}: not up after the storm");
        world.speak(0);
        world.speak(1);
        world.run(world.now + Duration::from_secs(1));
        assert!(world.delivered.len() >= before + 2, "seed {seed}: no text comes after the storm");
        world.judge_secrets();
        delivered += before;
    }
    assert!(delivered > 0, "the storms let nothing through, which tests nothing");
}

/// Ten minutes of a quiet association: five renewals of the keys, and hardly a packet.
#[test]
fn a_quiet_association_renews_its_keys_and_costs_next_to_nothing() {
    let mut world = World::new(7, 2, Config { suite: Suite::Classic, ..Config::default() }, CALM);
    world.connect(0, 1);
    world.run(world.now + Duration::from_secs(600));
    assert_eq!((world.nodes[0].up.len(), world.nodes[1].up.len()), (1, 1));
    let audit = world.nodes[0].endpoint.audit();
    let renewed =
        audit.entries().filter(|entry| matches!(entry.what, What::Rekeyed { .. })).count();
    assert!((4..=5).contains(&renewed), "{renewed} renewals");
    assert_eq!(audit.rejected_in_all(), 0);
}
