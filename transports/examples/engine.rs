//! What the link engine costs for a message of 64 bytes, without any cipher: both ends together, in memory.
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example engine
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/engine 100000
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/engine 200000
//! ```
//!
//! The difference of the two counts of instructions, over 100,000, is what one message costs.

use greenroom::net::FrameBuf;
use greenroom_transports::link::{Address, Config, Ecn, Envelope, Kind, Lane, Time};
use std::error::Error;
use std::time::Duration;

/// Messages that are handed over together, as one turn of a worker does.
const TURN: u64 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse())?;
    let config = Config::default();
    let (mut left, mut right) = (lane(&config)?, lane(&config)?);
    let (mut buffer, mut message) = (vec![0; config.packet_len_max], FrameBuf::default());
    let (mut now, mut sent, mut delivered, mut packets) = (Time::default(), 0, 0, 0_u64);
    while delivered < count {
        now = now + Duration::from_micros(50);
        let turn_end = count.min(sent + TURN);
        while sent < turn_end && left.send(&envelope(sent), &[7; 64]).is_ok() {
            sent += 1;
        }
        while let Some(packet) = left.poll_transmit(now, &mut buffer) {
            packets += 1;
            right.on_packet(now, packet.number, &buffer[..packet.len], Ecn::NotCapable);
        }
        while let Some(delivery) = right.poll_message(&mut message) {
            delivered += 1;
            right.release(now, delivery.receipt, u32::MAX);
        }
        while let Some(packet) = right.poll_transmit(now, &mut buffer) {
            packets += 1;
            left.on_packet(now, packet.number, &buffer[..packet.len], Ecn::NotCapable);
        }
        for lane in [&mut left, &mut right] {
            while lane.poll_event().is_some() {}
            if lane.timeout().is_some_and(|due| due <= now) {
                lane.on_timeout(now);
            }
        }
    }
    eprintln!("{delivered} messages in {packets} packets, {} lost", left.counts().packets_lost);
    Ok(())
}

fn lane(config: &Config) -> Result<Lane, Box<dyn Error>> {
    Ok(Lane::new(Time::default(), config.clone())?)
}

/// One of sixteen actors writes to one of sixteen.
fn envelope(number: u64) -> Envelope {
    let address = |slot: u64| Address { slot: (slot % 16) as u32, generation: 1 };
    let (to, from) = (address(number), address(number / 16));
    Envelope { to, from, kind: Kind::Tell, manifest: 1, correlation: 0 }
}
