//! Datagrams from one socket of this machine to another, on one thread: sealed, carried by the kernel, opened.

use greenroom_peers::Program;
use greenroom_transports::secure::key::Key;
use greenroom_transports::secure::packet::{Opener, Sealer};
use greenroom_transports::secure::wire::{DataHeader, HEADER_BYTES, OVERHEAD_BYTES};
use greenroom_transports::udp::socket::{Batch, Options, Socket};
use std::future::poll_fn;
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

const TEXT: [u8; 64] = [7; 64];
/// Bytes of a datagram with that text.
const DATAGRAM: usize = TEXT.len() + OVERHEAD_BYTES;
/// Datagrams that are sent with one call.
const BATCH: usize = 64;
/// After so long a datagram is lost, which none is on this machine.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn programs() -> Vec<Program> {
    let program = |name, run: fn(u64) -> Duration| Program::new(name, "udp", 1, run);
    vec![
        program("path_datagram", |n| carried(n, 1, &mut Lane::new())),
        program("path_datagram_bare", bare),
        program("path_datagrams", |n| carried(n, BATCH, &mut Lane::new())),
        program("path_datagrams_bare", |n| carried(n, BATCH, &mut Bare)),
    ]
}

/// What is done for each datagram beside carrying it.
trait Each {
    fn before(&mut self, packet: &mut [u8]);
    fn after(&mut self, packet: &mut [u8]);
}

/// Nothing.
struct Bare;

impl Each for Bare {
    fn before(&mut self, _packet: &mut [u8]) {}

    fn after(&mut self, packet: &mut [u8]) {
        assert_eq!(packet.len(), DATAGRAM, "it comes as it was sent");
    }
}

/// A text goes in, is sealed, opened and looked at.
struct Lane {
    sealer: Sealer,
    opener: Opener,
}

impl Lane {
    fn new() -> Self {
        let key = Key::new([7; 32]);
        Self { sealer: Sealer::new(&key, 0, 1, 0), opener: Opener::new(&key) }
    }
}

impl Each for Lane {
    fn before(&mut self, packet: &mut [u8]) {
        packet[HEADER_BYTES..][..TEXT.len()].copy_from_slice(&TEXT);
        self.sealer.seal(packet).expect("there is room");
    }

    fn after(&mut self, packet: &mut [u8]) {
        let header = DataHeader::decode(packet).expect("it is a data packet");
        let opened = self.opener.open(&header, packet).expect("it was sealed so");
        assert_eq!(packet[opened.text], TEXT, "the text is what was sent");
    }
}

/// How long `n` datagrams took, so many at a time, between sockets as the transports have them.
fn carried(n: u64, at_a_time: usize, each: &mut impl Each) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.expect("a runtime starts").block_on(async {
        let bind = || Socket::bind((Ipv4Addr::LOCALHOST, 0).into(), &Options::default());
        let (from, to) = (bind().expect("a port is free"), bind().expect("a port is free"));
        let segment = NonZeroUsize::new(DATAGRAM).expect("it has a text");
        let mut packets = vec![0; at_a_time * DATAGRAM];
        let mut batch = Batch::new();
        let clock = Instant::now();
        for _ in 0..n / at_a_time as u64 {
            packets.chunks_mut(DATAGRAM).for_each(|packet| each.before(packet));
            from.send(to.address(), &packets, segment).expect("there is room for all of them");
            let mut came = 0;
            while came < at_a_time {
                poll_fn(|cx| to.poll_readable(cx)).await.expect("the socket works");
                to.receive(&mut batch).expect("the socket works");
                for (_, packet) in batch.datagrams() {
                    each.after(packet);
                    came += 1;
                }
            }
        }
        clock.elapsed()
    })
}

/// How long the kernel takes for `n` of them, each sent and received by a call of its own.
fn bare(n: u64) -> Duration {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (from, to) = (bind().expect("a port is free"), bind().expect("a port is free"));
    to.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
    let address = to.local_addr().expect("it is bound");
    let mut packet = [7; DATAGRAM];
    let clock = Instant::now();
    for _ in 0..n {
        from.send_to(&packet, address).expect("there is room");
        let (len, _) = to.recv_from(&mut packet).expect("it comes");
        assert_eq!(len, DATAGRAM, "it comes as it was sent");
    }
    clock.elapsed()
}
