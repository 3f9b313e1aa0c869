//! Long messages that stay where the device has put them.

use super::*;

/// Received by the second node, each by itself.
fn receive(world: &mut World, len: usize) -> FrameBuf {
    let [from, to] = [0, 1].map(|at: usize| world.nodes[at].line.unwrap());
    world.nodes[0].station.lock().submit(from, Order::Within(7), &vec![len as u8; len]).unwrap();
    let (mut cx, mut frame) = (Context::from_waker(Waker::noop()), FrameBuf::default());
    for _ in 0..10_000 {
        let received = world.nodes[1].station.lock().poll_receive(to, &mut cx, &mut frame);
        if let Poll::Ready(received) = received {
            received.unwrap();
            assert!(*frame == vec![len as u8; len]);
            return frame;
        }
        [0, 1].into_iter().for_each(|own| world.turn(own));
        world.fabric.advance(world.now() + Duration::from_micros(20));
    }
    panic!("{len} bytes do not come")
}

// [RDMA-54]
#[test]
fn long_messages_that_come_in_one_packet_are_not_copied() {
    for (test, how, carrier) in
        [(22, How::Sealed, Carrier::Rdma), (23, How::Trusting, Carrier::RdmaPlain)]
    {
        each_seed(test, |seed| {
            let mut world = World::new(seed, Weather::fair(), [how; 2]);
            world.is_quiet = true;
            let is_linked = |world: &World| world.nodes.iter().all(|node| node.line.is_some());
            world.run_until(|world| world.is_by(carrier) && is_linked(world));
            // At first there is no other memory, and then there is as much as is wanted.
            let mut frames = Vec::new();
            while world.lent() < 3 {
                frames.push(receive(&mut world, 5000));
                assert!(frames.len() < 10, "they are copied");
            }
            frames.clear();
            let mut kept = Vec::new();
            for (len, is_lent) in [
                (100, false),
                (1023, false),
                (1024, true),
                (5000, true),
                (16_000, true),
                (40_000, false),
            ] {
                let before = world.lent();
                kept.push(receive(&mut world, len));
                assert_eq!(world.lent() - before, usize::from(is_lent), "{len} bytes");
            }
            kept.truncate(3);
            assert_eq!(world.lent(), 1);
            kept.clear();
            assert_eq!(world.lent(), 0);
        });
    }
}

impl World {
    /// How many slots of the second node somebody keeps.
    fn lent(&mut self) -> usize {
        self.nodes[1].pairs.as_mut().unwrap().lent()
    }
}
