use super::*;

mod closing;
mod lending;

/// How many seeds each test tries: GREENROOM_SEEDS, or some.
fn each_seed(test: u64, mut run: impl FnMut(u64)) {
    let count = std::env::var("GREENROOM_SEEDS").ok();
    let count = count.map_or(6, |count| count.parse().expect("GREENROOM_SEEDS is a number"));
    for seed in 0..count {
        // No key is used in two worlds of one process.
        let run = std::panic::AssertUnwindSafe(|| run(seed ^ test << 32));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}

const SEALED: [How; 2] = [How::Sealed, How::Sealed];

// [RDMA-42] [RDMA-45]
#[test]
fn links_move_to_queue_pairs_and_close_in_order() {
    each_seed(1, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.loss_permille = [0, 50][seed as usize % 2];
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let id = world.nodes[0].line.unwrap();
        world.nodes[0].station.lock().close_line(id);
        world.run_until(|world| world.nodes[1].ended.is_some());
        assert_eq!(world.nodes[1].ended, Some(LinkEnd::Closed));
        // Whoever had no room was woken when there was some.
        let stalled = Carrier::Udp(Why::Stalled);
        for node in &world.nodes {
            assert!(node.station.lock().changes().all(|change| change.to != stalled));
        }
    });
}

/// Links leave queue pairs when `harm` was done to a machine's device, and come back.
fn is_opened_again(test: u64, harm: impl Fn(&Fabric, usize)) {
    each_seed(test, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let host = world.nodes[0].slot.borrow().as_ref().unwrap().host();
        harm(&world.fabric, host);
        world.run_until(|world| !world.is_by(Carrier::Rdma));
        world.run_until(|world| world.is_by(Carrier::Rdma));
    });
}

/// Nothing is under way that could fail, neither here nor at the peer, and only an event says so.
// [RDMA-15]
#[test]
fn a_queue_pair_that_fails_while_it_rests_is_left_at_once() {
    each_seed(16, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        // What was said at the end is acknowledged, and what tells that a node is there is over for a while.
        let rest = world.now() + Duration::from_secs(1);
        world.run_until(|world| world.now() >= rest);
        world.pass(Duration::from_millis(100));
        assert!(world.is_by(Carrier::Rdma));
        let host = world.nodes[0].slot.borrow().as_ref().unwrap().host();
        world.fabric.fail_pairs(host);
        world.pass(Duration::from_millis(10));
        assert!(!world.is_by(Carrier::Rdma), "{:?}", world.story());
        world.run_until(|world| world.is_by(Carrier::Rdma));
    });
}

/// To arm takes a call of the system, in each of a node's turns.
// [RDMA-16]
#[test]
fn without_queue_pairs_nothing_is_asked_of_a_device() {
    each_seed(17, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let id = world.nodes[0].line.unwrap();
        world.nodes[0].station.lock().close_line(id);
        world.run_until(|world| world.nodes[1].ended.is_some());
        world.pass(Duration::from_secs(1));
        calls::watch(|| panic!("a call that nobody has a use for"));
        for _ in 0..10 {
            [0, 1].into_iter().for_each(|own| world.turn(own));
        }
        calls::watch(|| {});
    });
}

// [RDMA-19]
#[test]
fn a_device_whose_receives_fail_is_opened_again() {
    is_opened_again(7, Fabric::fail_receives);
}

// [RDMA-19]
#[test]
fn a_device_whose_completions_fail_is_opened_again() {
    is_opened_again(9, Fabric::fail_completions);
}

/// A link by a queue pair does not wait for the socket for datagrams.
#[test]
fn a_full_socket_does_not_hold_up_queue_pairs() {
    each_seed(7, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.is_quiet = true;
        world.run_until(|world| world.is_by(Carrier::Rdma));
        (world.is_quiet, world.is_full) = (false, true);
        world.run_until(World::is_served);
        assert!(world.is_by(Carrier::Rdma));
    });
}

/// Peers are told of the address that the device's port has by now, also where it got that while it was down.
#[test]
fn a_device_with_another_address_is_opened_again() {
    is_opened_again(11, Fabric::readdress);
    is_opened_again(12, |fabric, host| {
        fabric.set_port(host, false);
        fabric.readdress(host);
        fabric.set_port(host, true);
    });
}

/// Peers with addresses of a network alone would not find it by that of the link. One that is no better changes nothing.
// [RDMA-53]
#[test]
fn a_device_with_a_better_address_is_opened_again() {
    each_seed(18, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let gid = |world: &World| world.nodes[0].pairs.as_ref().unwrap().gid;
        let host = world.nodes[0].slot.borrow().as_ref().unwrap().host();
        // Another one of a network is no better, though a device that is opened now would have it.
        let (first, moves) = (gid(&world), world.moves());
        world.nodes[0].best_gid.set(1);
        world.fabric.address(host);
        world.pass(Duration::from_millis(10));
        assert!(world.is_by(Carrier::Rdma) && world.moves() == moves, "{:?}", world.story());
        world.nodes[0].best_gid.set(0);
        world.fabric.readdress_by_link(host);
        world.run_until(|world| world.moves() > moves && world.is_by(Carrier::Rdma));
        let (of_link, moves) = (gid(&world), world.moves());
        assert_eq!(of_link[..2], [0xfe, 0x80]);
        world.nodes[0].best_gid.set(1);
        world.fabric.address(host);
        world.run_until(|world| world.moves() > moves && world.is_by(Carrier::Rdma));
        assert!(![first, of_link].contains(&gid(&world)));
    });
}

/// It is let go, which the kernel waits for, and another one is found.
#[test]
fn a_device_without_an_interface_is_closed() {
    each_seed(13, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let host = world.nodes[0].slot.borrow().as_ref().unwrap().host();
        assert!(world.fabric.is_open(host));
        world.fabric.unplug(host);
        world.run_until(|world| !world.is_by(Carrier::Rdma) && !world.fabric.is_open(host));
        *world.nodes[0].slot.borrow_mut() = Some(world.fabric.host());
        world.run_until(|world| world.is_by(Carrier::Rdma));
    });
}

/// It did not look for so long, and how long packets had waited when it did says nothing of the queue pair.
// [RDMA-44]
#[test]
fn who_stood_still_itself_keeps_its_queue_pair() {
    each_seed(14, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.is_quiet = true;
        world.run_until(|world| world.is_by(Carrier::Rdma));
        // Packets wait for room most of the time, for what is under way takes that long.
        let latency = Duration::from_millis(5);
        world.fabric.set_weather(Weather { latency, ..Weather::fair() });
        world.is_quiet = false;
        while !world.is_served() {
            (0..100).for_each(|_| world.round());
            world.fabric.advance(world.now() + Duration::from_millis(1500));
        }
        for node in &world.nodes {
            let station = node.station.lock();
            let changes: Vec<_> = station.changes().map(|change| change.to).collect();
            assert!(!changes.contains(&Carrier::Udp(Why::Stalled)), "{changes:?}");
        }
    });
}

/// What comes while a turn lasts is taken, and so is the event that tells of it.
#[test]
fn events_of_what_was_taken_do_not_pile_up() {
    each_seed(10, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.turn = Duration::from_micros(20);
        world.run_until(|world| {
            let most = [0, 1].map(|host| world.fabric.events_waiting(host)).into_iter().max();
            assert!(most <= Some(2), "{most:?}");
            world.is_served() && world.is_by(Carrier::Rdma)
        });
    });
}

/// What is done to the devices while messages go, and undone a little later.
fn harm(world: &mut World, away: &mut [bool; 2]) {
    let node = world.random.below(2) as usize;
    let host = world.nodes[node].slot.borrow().as_ref().map(SimVerbs::host);
    match (world.random.below(4), host) {
        _ if away[node] => {
            match host {
                Some(host) => world.fabric.set_port(host, true),
                None => *world.nodes[node].slot.borrow_mut() = Some(world.fabric.host()),
            }
            away[node] = false;
        }
        (0, Some(host)) => {
            world.fabric.pull(host);
            *world.nodes[node].slot.borrow_mut() = None;
            away[node] = true;
        }
        (1, Some(host)) => {
            world.fabric.unplug(host);
            *world.nodes[node].slot.borrow_mut() = None;
            away[node] = true;
        }
        (2, Some(host)) => {
            world.fabric.set_port(host, false);
            away[node] = true;
        }
        _ => {}
    }
}

// [RDMA-44] [RDMA-45]
#[test]
fn devices_that_go_away_under_load_lose_double_and_reorder_nothing() {
    let mut moves = 0;
    each_seed(2, |seed| {
        let mut random = Random::new(seed);
        let weather = Weather {
            latency: Duration::from_micros(1 + random.below(20)),
            jitter: Duration::from_micros([0, 5, 200][random.below(3) as usize]),
            completion_jitter: Duration::from_micros([0, 5, 100][random.below(3) as usize]),
            failures_ppm: [0, 2000, 20_000][random.below(3) as usize],
            search: Duration::from_millis([0, 5, 1000][random.below(3) as usize]),
            ..Weather::fair()
        };
        let mut world = World::new(seed, weather, SEALED);
        world.loss_permille = [0, 20, 100][random.below(3) as usize];
        let mut away = [false; 2];
        let every = 50 + random.below(400);
        while !world.is_served() {
            world.round();
            if random.below(every) == 0 {
                harm(&mut world, &mut away);
            }
        }
        // It is calm, and both have a device.
        world.fabric.set_weather(Weather::fair());
        while away != [false; 2] {
            harm(&mut world, &mut away);
        }
        world.run_until(|world| world.is_by(Carrier::Rdma));
        moves += world.moves();
    });
    assert!(moves > 12, "links moved too rarely: {moves}");
}

// [RDMA-42]
#[test]
fn a_queue_pair_that_does_not_prove_to_carry_is_not_used() {
    each_seed(3, |seed| {
        let weather = Weather { latency: Duration::from_secs(60), ..Weather::fair() };
        let mut world = World::new(seed, weather, SEALED);
        let unproved = |world: &World| {
            [0, 1].into_iter().all(|it| matches!(world.carrier(it), Some(Carrier::Udp(why)) if why != Why::PeerWithout))
        };
        world.run_until(|world| world.is_served() && unproved(world));
        assert_eq!(world.moves(), 0);
        let changes: Vec<_> = world.nodes[0].station.lock().changes().map(|it| it.to).collect();
        assert!(!changes.contains(&Carrier::Rdma), "{changes:?}");
    });
}

/// A switch takes packets of 1500 bytes, and both ports say 4096: what is short would pass.
// [RDMA-42]
#[test]
fn a_path_that_loses_long_packets_alone_is_not_used() {
    each_seed(16, |seed| {
        let weather = Weather { path_mtu_bytes: 1500, ..Weather::fair() };
        let mut world = World::new(seed, weather, SEALED);
        world.run_until(World::is_served);
        let tried = world.now() + Duration::from_secs(60);
        world.run_until(|world| world.now() > tried);
        assert_eq!(world.moves(), 0);
        world.fabric.set_weather(Weather::fair());
        world.run_until(|world| world.is_by(Carrier::Rdma));
    });
}

// [RDMA-43]
#[test]
fn packets_are_sealed_unless_both_trust_each_other() {
    for (seed, (how, expected)) in (4 << 32..).zip([
        ([How::Trusting, How::Trusting], Carrier::RdmaPlain),
        ([How::Trusting, How::Sealed], Carrier::Rdma),
        ([How::Sealed, How::Trusting], Carrier::Rdma),
    ]) {
        let mut world = World::new(seed, Weather::fair(), how);
        world.run_until(|world| world.is_by(expected));
        // What actors say from then on can be read on the way exactly where nothing is sealed.
        let last = MESSAGES - 2;
        assert!(world.nodes.iter().all(|node| node.sent <= last), "it is still to be said");
        world.fabric.look_for(&World::text(last)[8..]);
        world.run_until(|world| world.is_served() && world.is_by(expected));
        assert_eq!(world.fabric.sightings() > 0, expected == Carrier::RdmaPlain, "{how:?}");
        let others = [Carrier::Rdma, Carrier::RdmaPlain].into_iter().filter(|it| *it != expected);
        for other in others {
            let station = world.nodes[0].station.lock();
            assert!(station.changes().all(|change| change.to != other), "{how:?}");
        }
    }
}

// [RDMA-44] [RDMA-46]
#[test]
fn without_a_device_everything_goes_by_udp_and_both_know_why() {
    let mut world = World::new(5 << 32, Weather::fair(), [How::Sealed, How::Without]);
    world.run_until(World::is_served);
    assert_eq!(world.carrier(0), Some(Carrier::Udp(Why::PeerWithout)));
    for without in [0, 1] {
        let mut world = World::new((5 << 32) + 1 + without as u64, Weather::fair(), SEALED);
        *world.nodes[without].slot.borrow_mut() = None;
        let without_device = Some(Carrier::Udp(Why::NoDevice));
        world.run_until(|world| world.is_served() && world.carrier(without) == without_device);
        assert_eq!(world.moves(), 0);
    }
}

/// The user is told how much was wanted, of what, and how to have it.
// [RDMA-44] [RDMA-46]
#[test]
fn a_node_that_may_not_lock_memory_goes_by_udp_until_it_may() {
    each_seed(17, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.fabric.limit_memory(0, 1234);
        let without_memory = Some(Carrier::Udp(Why::NoMemory));
        world.run_until(|world| world.is_served() && world.carrier(0) == without_memory);
        assert_eq!(world.moves(), 0);
        let failure = world.nodes[0].pairs.as_ref().unwrap().failure().get().unwrap();
        let wanted = (32 * CONFIG.slot_bytes).to_string();
        for part in [&*wanted, "1234", "RLIMIT_MEMLOCK", "ulimit -l", "LimitMEMLOCK="] {
            assert!(failure.contains(part), "{part}: {failure}");
        }
        world.fabric.limit_memory(0, u64::MAX);
        world.run_until(|world| world.is_by(Carrier::Rdma));
    });
}

fn changes(node: &Node) -> Vec<Change> {
    node.station.lock().changes().copied().collect()
}

/// A link goes to a queue pair again after a pause that is twice as long each time, and short again only after one that
/// served for long.
// [RDMA-48]
fn pauses_between_moves(changes: &[Change]) {
    let (short, long) = (Duration::from_millis(250), Duration::from_secs(30));
    let (mut moved, mut left, mut pause) = (None::<Time>, None::<Time>, short);
    for Change { at, to, .. } in changes {
        if matches!(to, Carrier::Udp(_)) {
            left = left.or(Some(*at));
            continue;
        }
        if let (Some(moved), Some(left)) = (moved, left) {
            pause = if left.since(moved) >= long { short } else { pause };
            assert!(at.since(moved) >= pause, "earlier than after {pause:?}: {changes:#?}");
            pause = (pause * 2).min(long);
        }
        (moved, left) = (Some(*at), None);
    }
}

/// The messages of actors that wait for answers would take a minute by a queue pair that carries two of three.
// [RDMA-48] [RDMA-50]
#[test]
fn a_queue_pair_that_loses_much_is_given_up_until_it_is_better() {
    let second = Duration::from_secs(1);
    each_seed(8, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.is_quiet = true;
        world.run_until(|world| world.is_by(Carrier::Rdma));
        (world.is_quiet, world.is_patient) = (false, true);
        let loss = [300, 600, 900][seed as usize % 3];
        let lossy = Weather { message_loss_permille: loss, ..Weather::fair() };
        world.fabric.set_weather(lossy);
        let began = world.now();
        world.run_until(World::is_served);
        let took = world.now().since(began);
        eprintln!("{loss} of 1000 lost, all came after {took:?}");
        assert!(took < 3 * second, "{took:?}");
        // Something goes all the time, if only to see whether the other is there.
        world.run_until(|world| world.now().since(began) > 120 * second);
        world.nodes.iter().for_each(|node| pauses_between_moves(&changes(node)));
        world.fabric.set_weather(Weather::fair());
        let began = world.now();
        world.run_until(|world| world.is_by(Carrier::Rdma));
        assert!(world.now().since(began) < 40 * second);
    });
}
