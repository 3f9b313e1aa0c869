//! How nodes with queue pairs end links, and depart.

use super::*;

/// The last that a node does is to say so by UDP, for its device goes with it.
#[test]
fn who_departs_from_a_queue_pair_says_so() {
    each_seed(6, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let line = world.nodes[0].line.unwrap();
        world.run_until(|world| world.nodes[0].station.lock().arrived(line) == MESSAGES);
        world.nodes[0].station.lock().depart();
        world.send(0);
        world.nodes[0].pairs = None;
        while world.nodes[1].ended.is_none() {
            world.turn(1);
            world.act(1, false);
            world.fabric.advance(world.now() + Duration::from_micros(20));
            assert!(world.now() < Time::from_nanos(5_000_000_000), "it does not hear of it");
        }
        assert_eq!(world.nodes[1].ended, Some(LinkEnd::Closed));
    });
}

/// What was under way by the device is lost with it.
#[test]
fn who_closes_while_its_device_goes_says_so_by_udp() {
    each_seed(20, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let line = world.nodes[0].line.unwrap();
        world.run_until(|world| world.nodes[0].station.lock().arrived(line) == MESSAGES);
        world.fabric.set_weather(Weather { message_loss_permille: 1000, ..Weather::fair() });
        world.nodes[0].station.lock().close_line(line);
        world.turn(0);
        let host = world.nodes[0].slot.borrow().as_ref().unwrap().host();
        world.fabric.pull(host);
        world.run_until(|world| world.nodes[1].ended.is_some());
        assert_eq!(world.nodes[1].ended, Some(LinkEnd::Closed));
    });
}

/// A device repeats what it loses later than the link ends, with which its queue pair goes.
// [RDMA-45] [LINK-73]
#[test]
fn who_closes_by_a_queue_pair_that_loses_it_says_so_by_udp() {
    let ways = [(SEALED, Carrier::Rdma), ([How::Trusting; 2], Carrier::RdmaPlain)];
    each_seed(21, |seed| {
        let (how, carrier) = ways[seed as usize % 2];
        let mut world = World::new(seed, Weather::fair(), how);
        world.run_until(|world| world.is_served() && world.is_by(carrier));
        let line = world.nodes[0].line.unwrap();
        world.run_until(|world| world.nodes[0].station.lock().arrived(line) == MESSAGES);
        world.fabric.set_weather(Weather { message_loss_permille: 1000, ..Weather::fair() });
        world.nodes[0].station.lock().close_line(line);
        world.run_until(|world| world.nodes[1].ended.is_some());
        assert_eq!(world.nodes[1].ended, Some(LinkEnd::Closed));
        world.nodes[0].station.lock().close();
        world.run_until(|world| world.nodes[0].station.lock().is_over());
    });
}

/// To open a device and to connect takes time and memory, and all that is closed a moment later.
#[test]
fn who_departs_begins_no_queue_pair() {
    each_seed(19, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        let hosts = [0, 1].map(|at| world.nodes[at].slot.borrow().as_ref().unwrap().host());
        let pairs = [0, 1].map(|at| world.nodes[at].pairs.take().unwrap());
        world.run_until(World::is_served);
        let now = world.now();
        let mut cx = Context::from_waker(Waker::noop());
        let mut opened = [0, 0];
        for (at, mut pairs) in pairs.into_iter().enumerate() {
            let station = &world.nodes[at].station;
            pairs.send_last(station, now);
            assert!(!world.fabric.is_open(hosts[at]));
            // One of them would have offered.
            pairs.send(station, &mut cx, now);
            opened[at] = usize::from(world.fabric.is_open(hosts[at]));
        }
        assert_eq!(opened.iter().sum::<usize>(), 1);
    });
}

/// Nothing comes by UDP: what was sent by the queue pair has left before that is closed.
// [RDMA-9]
#[test]
fn who_departs_from_a_queue_pair_has_sent_what_it_had() {
    each_seed(15, |seed| {
        let mut world = World::new(seed, Weather::fair(), SEALED);
        world.run_until(|world| world.is_served() && world.is_by(Carrier::Rdma));
        let line = world.nodes[0].line.unwrap();
        world.run_until(|world| world.nodes[0].station.lock().arrived(line) == MESSAGES);
        let latency = Duration::from_micros(100);
        world.fabric.set_weather(Weather { latency, ..Weather::fair() });
        world.loss_permille = 1000;
        let more = 1 + seed % 20;
        for number in MESSAGES..MESSAGES + more {
            let message = number.to_le_bytes();
            world.nodes[0].station.lock().submit(line, Order::Within(7), &message).unwrap();
        }
        world.turn(0);
        let node = &mut world.nodes[0];
        let pairs = node.pairs.as_mut().unwrap();
        for polls in 0.. {
            let now = world.fabric.now();
            if !pairs.is_sending(&node.station, now) {
                break;
            }
            assert!(polls < 10_000, "nothing says that it has left");
            world.fabric.advance(now + Duration::from_micros(1));
        }
        node.pairs = None;
        let (mut frame, mut cx) = (FrameBuf::default(), Context::from_waker(Waker::noop()));
        world.turn(1);
        let line = world.nodes[1].line.unwrap();
        for number in MESSAGES..MESSAGES + more {
            let mut station = world.nodes[1].station.lock();
            let received = station.poll_receive(line, &mut cx, &mut frame);
            assert_eq!(received, Poll::Ready(Ok(())), "{number} of {more} more");
            assert_eq!(frame[..], number.to_le_bytes());
        }
    });
}
