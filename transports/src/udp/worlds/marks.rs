//! A stream over a link of limited bandwidth that loses packets when its queue is full, or marks them before.

use super::{Ground, MS, PORT, public, served};
use crate::link::{Address, Config, Envelope, Kind, Lane, Time};
use crate::udp::datagrams::{of_world, to_world};
use greenroom::net::{Export, FrameBuf};
use greenroom::sim::{Link, Marks, Socket, Traffic, World};
use greenroom::{Actor, Ref, handlers};
use std::net::SocketAddr;
use std::time::Duration;

/// A fifth of a megabyte each second, of which 80 ms wait at most.
fn narrow(marks: Marks) -> Link {
    let link = Link::default().latency(5 * MS).bytes_per_second(Some(200_000));
    link.queue_bytes(16 << 10).marks(marks)
}

/// Within this, a stream has found out what it may send.
const BEGIN: Duration = Duration::from_secs(3);
/// How long it is looked at from then on.
const GO_ON: Duration = Duration::from_secs(8);

/// How many packets the network has dropped since, and marked.
fn since(now: Traffic, before: Traffic) -> [u64; 2] {
    assert_eq!(now.lost, 0, "nothing is lost by chance");
    [now.overflowed - before.overflowed, now.marked - before.marked]
}

#[derive(Actor)]
struct Sink(u64);

#[handlers(wire = "test.sink/1")]
impl Sink {
    #[tell]
    fn take(&mut self, bytes: Vec<u8>) {
        self.0 += bytes.len() as u64;
    }
    #[ask]
    fn taken(&self) -> u64 {
        self.0
    }
}

async fn pour(ground: &Ground, sink: &Ref<Sink>, until: Duration) -> u64 {
    let mut poured = 0;
    while ground.clock.now() < until {
        sink.take(vec![7; 4000]).await.unwrap();
        poured += 4000;
    }
    poured
}

/// What becomes of a stream between two nodes, after it has begun.
fn stream(marks: Marks) -> [u64; 2] {
    let mut world = World::new(1);
    crate::secure::packet::watch::forget();
    world.set_links(narrow(marks));
    let (ground, _, _) = served(&mut world);
    let (server, client) = (world.node("sink").start(), world.node("client").start());
    let at = SocketAddr::new(server.host(), PORT);
    let sink = world.run(async {
        let sink = server.system().spawn::<Sink>(Sink(0)).await.unwrap();
        ground.attend(&server, 3, &[1]).unwrap().export("sink", Export::of(&sink)).unwrap();
        let net = ground.join(&client, 1, &[3]).unwrap();
        let address = format!("udp:{at}#{}", public(3)).parse().unwrap();
        net.connect(&address).await.unwrap().find::<Sink>("sink").await.unwrap()
    });
    let begun = world.run(pour(&ground, &sink, BEGIN));
    let before = world.traffic();
    let poured = world.run(pour(&ground, &sink, BEGIN + GO_ON));
    let traffic = since(world.traffic(), before);
    assert_eq!(
        world.run(async { sink.taken().within(Duration::from_secs(60)).await }),
        Ok(begun + poured)
    );
    traffic
}

/// [UDP-34] [LINK-35] [LINK-36]
#[test]
fn a_stream_over_a_link_that_marks_loses_nothing() {
    let [overflowed, marked] = stream(Marks::Makes);
    assert!(overflowed == 0 && marked > 0, "{overflowed} overflowed, {marked} marked");
    // Where none are made, or they are taken off, it hears of congestion by what is lost.
    for marks in [Marks::Keeps, Marks::Clears] {
        let [overflowed, marked] = stream(marks);
        assert!(overflowed > 0 && marked == 0, "{overflowed} overflowed, {marked} marked");
    }
}

/// One end of a lane without ciphers.
struct End {
    lane: Lane,
    socket: Socket,
    /// The widest window since the last look at it.
    widest: u64,
}

impl End {
    fn new(socket: Socket) -> Self {
        let config = Config { mailbox_messages_start: None, ..Config::default() };
        Self { lane: Lane::new(Time::default(), config).unwrap(), socket, widest: 0 }
    }

    /// Does what is to be done now.
    fn step(&mut self, now: Time, to: &Self) {
        while let Some(datagram) = self.socket.try_receive().unwrap() {
            let (number, inside) = datagram.bytes.split_first_chunk().unwrap();
            let ecn = of_world(datagram.ecn);
            self.lane.on_packet(now, u64::from_le_bytes(*number), inside, ecn);
        }
        if self.lane.timeout().is_some_and(|due| due <= now) {
            self.lane.on_timeout(now);
        }
        let mut payload = FrameBuf::default();
        while let Some(delivery) = self.lane.poll_message(&mut payload) {
            self.lane.discard(now, delivery.receipt);
        }
        while self.lane.poll_event().is_some() {}
        let mut buffer = [0; 1500];
        while let Some(packet) = self.lane.poll_transmit(now, &mut buffer) {
            let bytes = [&packet.number.to_le_bytes()[..], &buffer[..packet.len]].concat();
            self.socket.try_send(to.socket.address(), to_world(self.lane.ecn()), &bytes).unwrap();
        }
        self.widest = self.widest.max(self.lane.congestion_window());
    }
}

/// What a lane has done after it has begun: the packets that it lost, the times that its window shrank, and how wide that
/// was at most.
fn lane(marks: Marks) -> [u64; 3] {
    let mut world = World::new(1);
    world.set_links(narrow(marks));
    let sockets = ["one", "other"].map(|name| world.node(name).start().bind(PORT).unwrap());
    let [mut one, mut other] = sockets.map(End::new);
    let to = Address { slot: 1, generation: 0 };
    let envelope = Envelope { to, from: to, kind: Kind::Ask, manifest: 0, correlation: 0 };
    let mut begun = one.lane.counts();
    while world.clock().now() < BEGIN + GO_ON {
        if world.clock().now() == BEGIN {
            (begun, one.widest) = (one.lane.counts(), 0);
        }
        let now = Time::default() + world.clock().now();
        while one.lane.send(&envelope, &[7; 1000]).is_ok() {}
        one.step(now, &other);
        other.step(now, &one);
        world.run_for(MS / 2);
    }
    let counts = one.lane.counts();
    let lost = counts.packets_lost - begun.packets_lost;
    [lost, counts.congestions - begun.congestions, one.widest]
}

/// [LINK-35] [LINK-36]
#[test]
fn marks_narrow_the_window_before_anything_is_lost() {
    let [lost, congestions, window] = lane(Marks::Makes);
    assert!(lost == 0 && congestions > 0, "{lost} lost, {congestions} times narrower");
    let [lost, _, wider] = lane(Marks::Keeps);
    assert!(lost > 0 && wider > window, "{lost} lost with {wider} bytes, none with {window}");
}
