use super::*;
use crate::link::{Address, Config, Envelope, Kind};
use greenroom::net::FrameBuf;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// [LINK-32]: what was filled up is as long on its way as a full one.
#[test]
fn a_black_hole_is_noticed_for_what_was_filled_up() {
    let defaults = Config { mailbox_messages_start: None, ..Config::default() };
    let config = Config { packet_len_start: defaults.packet_len_max, ..defaults };
    let mut now = Time::from_nanos(1);
    let lane = || Lane::new(now, config.clone()).expect("the limits fit together");
    let [mut near, mut far] = [lane(), lane()];
    let (from, to) = (Address { slot: 1, generation: 1 }, Address { slot: 2, generation: 1 });
    let envelope = Envelope { to, from, kind: Kind::Tell, manifest: 1, correlation: 0 };
    let (mut out, mut alone, mut buffer) = (Outgoing::new(), None, vec![0; 1500]);
    for _ in 0..50 {
        // One goes into a packet, which is shorter than the least by itself.
        (0..5).for_each(|_| near.send(&envelope, &[7; 1100]).expect("there is room"));
        near.on_timeout(now);
        loop {
            let mut numbers = Vec::new();
            let seal = |number, _: &mut [u8]| {
                numbers.push(number);
                Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 7)))
            };
            if !out.fill(now, &mut near, &mut alone, 8, seal) {
                break;
            }
            let datagrams = out.datagrams().chunks(out.segment().get());
            for (number, datagram) in numbers.into_iter().zip(datagrams) {
                let len = datagram.len() - OVERHEAD_BYTES;
                if len <= config.packet_len_base {
                    let inside = &datagram[HEADER_BYTES..HEADER_BYTES + len];
                    far.on_packet(now, number, inside, Ecn::NotCapable);
                }
            }
        }
        now = now + 5 * MS;
        far.on_timeout(now);
        while let Some(packet) = far.poll_transmit(now, &mut buffer) {
            near.on_packet(now, packet.number, &buffer[..packet.len], Ecn::NotCapable);
        }
        while let Some(delivery) = far.poll_message(&mut FrameBuf::default()) {
            far.discard(now, delivery.receipt);
        }
    }
    assert_eq!(near.packet_len(), config.packet_len_base);
}
