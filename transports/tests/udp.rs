//! Sockets of the kernel's: batches, errors, and nodes that talk over them, also through a relay that
//! loses, doubles, delays, reorders and alters what it carries. Every wait has an end.

mod capture;
mod loopbacks;
mod ports;
mod relay;
mod sessions;
#[path = "../../runtime/tests/support/mod.rs"]
mod support;

use greenroom::net::{Drive, Export, Node, Transport};
use greenroom::sim::Link;
use greenroom::{Actor, Ref, System, handlers};
use greenroom_transports::link::Ecn;
use greenroom_transports::rdma::Rdma;
use greenroom_transports::secure::audit::{Entry, SendFailure, What};
use greenroom_transports::secure::endpoint::Arrival;
use greenroom_transports::secure::entropy::System as Entropy;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::station::{Carrier, Why};
use greenroom_transports::udp::socket::{Batch, Options, SendError, Socket};
use greenroom_transports::udp::{Datagrams, Settings, Udp};
use loopbacks::loopbacks;
use relay::{Relay, Rules};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use support::{Builds, OwnSystem};

const LIMIT: Duration = Duration::from_secs(200);

fn socket(address: SocketAddr) -> Socket {
    Socket::bind(address, &Options::default()).expect("a port is free")
}

/// Receives until so many datagrams are there.
async fn received(socket: &Socket, count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
    let (mut batch, mut all) = (Batch::new(), Vec::new());
    let receive = async {
        while all.len() < count {
            poll_fn(|context| socket.poll_readable(context)).await.expect("the socket is there");
            socket.receive(&mut batch).expect("the socket receives");
            all.extend(
                batch.datagrams().map(|(arrival, datagram)| (arrival.from, datagram.to_vec())),
            );
        }
    };
    tokio::time::timeout(LIMIT, receive).await.expect("the datagrams come");
    all
}

/// With the kernel's segmentation and without: the same datagrams arrive, the short last one too.
#[tokio::test]
async fn many_datagrams_go_with_one_call() {
    for address in loopbacks() {
        for offload in [true, false] {
            let sender = Socket::bind(address, &Options { offload, ..Options::default() })
                .expect("a port is free");
            let receiver = socket(address);
            assert!(offload || sender.segments_max() == 1);
            let segment = NonZeroUsize::new(1_000).expect("not zero");
            let bytes: Vec<u8> = (0..70_300_usize).map(|at| (at / 1_000) as u8).collect();
            sender.send(receiver.address(), &bytes, segment).expect("the buffer holds it");
            let all = received(&receiver, 71).await;
            assert!(all.iter().all(|(from, _)| *from == sender.address()));
            let datagrams: Vec<_> = all.into_iter().map(|(_, datagram)| datagram).collect();
            let expected: Vec<_> = bytes.chunks(1_000).map(<[u8]>::to_vec).collect();
            assert_eq!(datagrams, expected);
        }
    }
}

/// [UDP-90]: what has no bytes is dropped, which is counted; so it has to be seen.
#[tokio::test]
async fn a_datagram_without_a_byte_is_one() {
    for address in loopbacks() {
        let sender = std::net::UdpSocket::bind(address).expect("a port is free");
        let receiver = socket(address);
        let texts: [&[u8]; 4] = [b"", b"text", b"", b""];
        for text in texts {
            sender.send_to(text, receiver.address()).expect("the buffer holds it");
        }
        let all = received(&receiver, texts.len()).await;
        assert_eq!(all.iter().map(|(_, text)| &text[..]).collect::<Vec<_>>(), texts);
    }
}

/// [UDP-34]: by both kinds of addresses, one datagram alone and many with one call.
#[tokio::test]
async fn marks_arrive() {
    for address in loopbacks() {
        let (mut sender, receiver) = (socket(address), socket(address));
        let (segment, mut batch) = (NonZeroUsize::new(1_000).expect("not zero"), Batch::new());
        for (ecn, bytes) in [Ecn::Capable0, Ecn::Congested, Ecn::NotCapable]
            .into_iter()
            .flat_map(|ecn| [(ecn, 700), (ecn, 9_300)])
        {
            let sent = sender.send_from(None, receiver.address(), ecn, &vec![7; bytes], segment);
            sent.expect("the buffer holds it");
            let mut came = 0;
            while came < bytes {
                let readable = poll_fn(|cx| receiver.poll_readable(cx));
                let readable = tokio::time::timeout(LIMIT, readable).await;
                readable.expect("it arrives").expect("the socket is there");
                receiver.receive(&mut batch).expect("the socket is there");
                for (arrival, datagram) in batch.datagrams() {
                    assert_eq!(arrival.ecn, ecn, "at {address}");
                    came += datagram.len();
                }
            }
        }
    }
}

#[tokio::test]
async fn what_cannot_be_sent_says_why() {
    let v4 = loopbacks()[0];
    let (sender, receiver) = (socket(v4), socket(v4));
    let long = vec![0; 65_508];
    let length = NonZeroUsize::new(long.len()).expect("not zero");
    let error = sender.send(receiver.address(), &long, length).expect_err("too long for IPv4");
    assert!(matches!(error, (0, SendError::TooBig)), "{error:?}");
    // An address of the other family is an error too, and not a panic.
    let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
    let error = sender.send(v6, &[0; 8], NonZeroUsize::MIN).expect_err("no way");
    assert_eq!(error.0, 0);
    assert!(Socket::bind(receiver.address(), &Options::default()).is_err(), "the address is taken");
}

#[tokio::test]
async fn a_full_buffer_takes_whole_datagrams_or_none() {
    let v4 = loopbacks()[0];
    let options = Options { buffer_bytes: 4_096, offload: false };
    let mut sender = Socket::bind(v4, &options).expect("a port is free");
    let receiver = socket(v4);
    let segment = NonZeroUsize::new(500).expect("not zero");
    // Loopback takes what it is given at once, unless a discipline of the kernel's holds it back: then the buffer fills,
    // and who waits for room hears of it. Either is whole.
    let sent = match sender.send(receiver.address(), &[7; 200_000], segment) {
        Ok(()) => 200_000,
        Err((sent, SendError::Full)) => {
            let room = poll_fn(|context| sender.poll_writable(context));
            tokio::time::timeout(LIMIT, room).await.expect("it is told").expect("it is whole");
            sent
        }
        Err((_, error)) => panic!("{error}"),
    };
    assert_eq!(sent % 500, 0);
    assert!(received(&receiver, 1).await.iter().all(|(_, datagram)| datagram.len() == 500));
}

/// [UDP-72]
#[tokio::test]
async fn what_is_said_of_one_address_holds_up_nothing_to_another() {
    let v4 = loopbacks()[0];
    let (sender, receiver) = (socket(v4), socket(v4));
    let gone = SocketAddr::new(v4.ip(), ports::free());
    for _ in 0..10 {
        sender.send(gone, &[1], NonZeroUsize::MIN).expect("it is sent");
        sender.send(receiver.address(), &[2], NonZeroUsize::MIN).expect("it is sent, too");
    }
    assert_eq!(received(&receiver, 10).await.len(), 10);
}

/// The kernel keeps what is said in the room that it has for datagrams. [UDP-72]
#[tokio::test]
async fn what_is_said_of_addresses_keeps_no_datagram_out() {
    let v4 = loopbacks()[0];
    let options = Options { buffer_bytes: 16_384, ..Options::default() };
    let deaf = Socket::bind(v4, &options).expect("a port is free");
    let (sender, gone) = (socket(v4), SocketAddr::new(v4.ip(), ports::free()));
    for _ in 0..1_000 {
        deaf.send(gone, &[1], NonZeroUsize::MIN).expect("it is sent");
    }
    sender.send(deaf.address(), &[2], NonZeroUsize::MIN).expect("it is sent");
    assert_eq!(received(&deaf, 1).await.len(), 1);
}

/// [UDP-52]: one call or several, and without harm to what is sent later.
#[tokio::test]
async fn an_address_that_is_gone_is_no_obstacle() {
    let mut sender = socket("0.0.0.0:0".parse().expect("an address"));
    let receiver = socket(loopbacks()[0]);
    let [here, gone] = ["127.0.0.2", "192.0.2.1"].map(|ip| Some(ip.parse().expect("an address")));
    let (segments, segment) = (sender.segments_max(), NonZeroUsize::new(500).expect("not zero"));
    for source in [here, gone, here] {
        sender
            .send_from(source, receiver.address(), Ecn::NotCapable, &[7; 2_000], segment)
            .expect("it is sent");
        let froms = received(&receiver, 4).await.into_iter().map(|(from, _)| from.ip());
        assert!(froms.into_iter().all(|from| Some(from) == source || source == gone));
        assert_eq!(sender.segments_max(), segments);
    }
}

/// Keeps what it is told.
#[derive(Actor, Default)]
struct Book {
    notes: Vec<u64>,
}

#[handlers(wire = "test.book/1")]
impl Book {
    #[tell]
    fn note(&mut self, number: u64) {
        self.notes.push(number);
    }
    #[ask]
    fn notes(&self) -> Vec<u64> {
        self.notes.clone()
    }
}

fn settings(host: u8) -> Settings {
    let identity = |host| Identity::new(Key::new([host; 32]));
    Settings::new(identity(host)).peer(identity(3 - host).public(), None)
}

/// A node that knows the other one.
fn node(host: u8, address: SocketAddr) -> (OwnSystem, Udp, Node) {
    node_with(settings(host), address)
}

fn node_with(settings: Settings, address: SocketAddr) -> (OwnSystem, Udp, Node) {
    let system = System::builder().workers(1).ask_timeout(LIMIT).own_as_set();
    let udp = Udp::bind(settings, address).expect("a port is free");
    let node = Node::start(&system, udp.clone()).expect("the system lives");
    (system, udp, node)
}

/// A program that waits for a link to leave RDMA, or to come back, is told without asking again and again.
// [RDMA-46]
#[tokio::test]
async fn who_waits_is_told_by_what_links_go_and_why() {
    for address in loopbacks() {
        let (here_lives, here_udp, here) = node_with(settings(1).rdma(Rdma::auto()), address);
        let (there_lives, there_udp, there) = node(2, address);
        let mut changes = here_udp.carrier_changes();
        let mut others = here_udp.carrier_changes();
        {
            let mut early = pin!(others.next());
            let pending = poll_fn(|cx| Poll::Ready(early.as_mut().poll(cx).is_pending())).await;
            assert!(pending, "nothing has changed, and who stops waiting misses nothing");
        }
        here.connect(&there_udp.node_address()).await.expect("it is reached");
        for changes in [&mut changes, &mut others] {
            let change = tokio::time::timeout(LIMIT, changes.next()).await.expect("it is told");
            let change = change.expect("the node is open");
            assert_eq!(change.to, Carrier::Udp(Why::PeerWithout));
            assert_eq!(change.peer, there_udp.public());
        }
        let waits = tokio::spawn(async move { others.next().await });
        let both = [(&*here_lives, &here_udp, &here), (&*there_lives, &there_udp, &there)];
        sessions::end(&both).await;
        let end = tokio::time::timeout(LIMIT, waits).await.expect("who waits is told of the end");
        assert_eq!(end.expect("it does not panic"), None);
        assert_eq!(changes.next().await, None);
    }
}

/// Handshake and messages through everything that a relay can do, which also forgets where from it spoke to the other
/// node, so that this one seems to be elsewhere. [UDP-11] [UDP-13] [UDP-50]
#[tokio::test]
async fn through_a_bad_network_messages_come_once_and_in_order() {
    for (seed, address) in loopbacks().into_iter().enumerate() {
        let link = Link::default().loss(100).duplication(100).corruption(100);
        let rules = Rules { link: link.jitter(Duration::from_millis(20)), rebind_after: 40 };
        let (here_lives, here_udp, here) = node(1, address);
        let (there_lives, there_udp, there) = node(2, address);
        let book = there_lives.spawn::<Book>(Book::default()).await.expect("it starts");
        there.export("book", Export::of(&book)).expect("the name is free");
        let relay = Relay::new(there_udp.address(), seed as u64, rules);
        let through = format!("udp:{}#{}", relay.address(), there_udp.public());
        let talk = async {
            let through = through.parse().expect("an address");
            let peer = here.connect(&through).await.expect("it is reached");
            let far: Ref<Book> = peer.find("book").await.expect("it is exported");
            let mut next = 0;
            let is_moved = |entry: &Entry| matches!(entry.what, What::Moved { .. });
            while next < 200 || !there_udp.audit(|audit| audit.entries().any(is_moved)) {
                for _ in 0..10 {
                    far.note(next).await.expect("it lives");
                    next += 1;
                }
                let noted = far.notes().within(LIMIT).await.expect("it answers");
                assert_eq!(noted, (0..next).collect::<Vec<_>>());
            }
            let both = [(&*here_lives, &here_udp, &here), (&*there_lives, &there_udp, &there)];
            sessions::end(&both).await;
        };
        tokio::time::timeout(LIMIT, talk).await.expect("messages get through");
        let relay::Done { traffic, seen } = relay.end();
        assert!(traffic.lost > 0 && traffic.doubled > 0 && traffic.damaged > 0, "{traffic:?}");
        capture::check(&seen, &[]);
        let rejected = |udp: &Udp| udp.audit(|audit| audit.rejected_in_all());
        assert!(rejected(&here_udp) + rejected(&there_udp) > 0);
    }
}

/// A sender that is quicker than the way: what the relay has no room for is lost, and comes all the same.
#[tokio::test]
async fn through_a_slow_network_messages_come_once_and_in_order() {
    const COUNT: u64 = 20_000;
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let link = Link::default().bytes_per_second(Some(400_000)).queue_bytes(6_000);
    let rules = Rules { link, rebind_after: 0 };
    let (here_lives, here_udp, here) = node(1, address);
    let (there_lives, there_udp, there) = node(2, address);
    let book = there_lives.spawn::<Book>(Book::default()).await.expect("it starts");
    there.export("book", Export::of(&book)).expect("the name is free");
    let relay = Relay::new(there_udp.address(), 1, rules);
    let through = format!("udp:{}#{}", relay.address(), there_udp.public());
    let talk = async {
        let peer =
            here.connect(&through.parse().expect("an address")).await.expect("it is reached");
        let far: Ref<Book> = peer.find("book").await.expect("it is exported");
        for next in 0..COUNT {
            far.note(next).await.expect("it lives");
        }
        let noted = far.notes().within(LIMIT).await.expect("it answers");
        assert_eq!(noted, (0..COUNT).collect::<Vec<_>>());
        let both = [(&*here_lives, &here_udp, &here), (&*there_lives, &there_udp, &there)];
        sessions::end(&both).await;
    };
    tokio::time::timeout(LIMIT, talk).await.expect("messages get through");
    let traffic = relay.end().traffic;
    assert!(traffic.overflowed > 0, "{traffic:?}");
}

/// Carries datagrams to and fro, for ever, and hears the server from the address alone to which it speaks.
async fn carry(client_side: tokio::net::UdpSocket, server: SocketAddr) {
    let server_side = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port is free");
    server_side.connect(server).await.expect("it is of this machine");
    let (mut one, mut other, mut client) = (vec![0; 65_536], vec![0; 65_536], None);
    loop {
        // What is not carried is lost, as it may be on any way.
        tokio::select! {
            Ok((length, from)) = client_side.recv_from(&mut one) => {
                client = Some(from);
                let _ = server_side.send(&one[..length]).await;
            }
            Ok(length) = server_side.recv(&mut other) => {
                if let Some(client) = client {
                    let _ = client_side.send_to(&other[..length], client).await;
                }
            }
        }
    }
}

/// One that has several addresses speaks from the one that it was spoken to. [UDP-52]
#[tokio::test]
async fn answers_come_from_the_address_that_was_asked() {
    for any in ["0.0.0.0:0", "[::]:0"] {
        let (here_lives, here_udp, here) = node(1, loopbacks()[0]);
        let (there_lives, there_udp, there) = node(2, any.parse().expect("an address"));
        let book = there_lives.spawn::<Book>(Book::default()).await.expect("it starts");
        there.export("book", Export::of(&book)).expect("the name is free");
        let server = SocketAddr::from(([127, 0, 0, 2], there_udp.address().port()));
        let between = tokio::net::UdpSocket::bind(loopbacks()[0]).await.expect("a port is free");
        let at = between.local_addr().expect("it is bound");
        let talk = async {
            let through = format!("udp:{at}#{}", there_udp.public());
            let peer = here.connect(&through.parse().expect("an address")).await;
            let far: Ref<Book> =
                peer.expect("it answers").find("book").await.expect("it is exported");
            far.note(7).await.expect("it lives");
            assert_eq!(far.notes().within(LIMIT).await.expect("it answers"), [7]);
            let both = [(&*here_lives, &here_udp, &here), (&*there_lives, &there_udp, &there)];
            sessions::end(&both).await;
        };
        tokio::select! {
            done = tokio::time::timeout(LIMIT, talk) => done.expect("it is heard"),
            () = carry(between, server) => {}
        }
    }
}

/// What takes no datagram, for one reason after the other.
struct Refusing(u64);

impl Datagrams for Refusing {
    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        _: &mut dyn FnMut(Arrival, &mut [u8]),
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn send(
        &mut self,
        _: Option<IpAddr>,
        to: SocketAddr,
        _: Ecn,
        datagram: &[u8],
        _: NonZeroUsize,
    ) -> Result<(), (usize, SendError)> {
        self.send_cut(None, to, datagram).map_err(|error| (0, error))
    }

    fn send_cut(&mut self, _: Option<IpAddr>, _: SocketAddr, _: &[u8]) -> Result<(), SendError> {
        self.0 += 1;
        Err(match self.0 % 4 {
            0 => SendError::TooBig,
            1 => SendError::Unreachable,
            2 => SendError::Denied,
            _ => SendError::Other(io::ErrorKind::InvalidInput.into()),
        })
    }

    fn poll_writable(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn segments_max(&self) -> usize {
        1
    }
}

/// Each is counted under its reason; of many within a second the audit has one.
#[test]
fn what_the_kernel_does_not_take_is_counted_and_noted() {
    let identity = |host| Identity::new(Key::new([host; 32]));
    let at = "127.0.0.1:7".parse().expect("an address");
    let mut settings = Settings::new(identity(1));
    for host in 2..42 {
        settings = settings.peer(identity(host).public(), None);
    }
    let since = Duration::from_secs(1_700_000_000);
    let udp = Udp::over(settings, Refusing(0), at, Box::new(Entropy), since).expect("it starts");
    let waiting: Vec<_> = (2..42)
        .map(|host| {
            let to = format!("udp:127.0.0.1:{host}#{}", identity(host).public());
            udp.connect(&to.parse().expect("an address"))
        })
        .collect();
    let drive = udp.drive(&mut Context::from_waker(Waker::noop()), Duration::from_secs(9));
    assert!(matches!(drive, Drive::Until(Some(_))));
    udp.audit(|audit| {
        assert_eq!(SendFailure::ALL.map(|why| audit.send_failed(why)), [10; 4]);
        let noted: Vec<_> = audit.entries().map(|entry| entry.what).collect();
        let [Some(first), .., Some(_)] = [0, 1, 2, 3].map(|at| noted.get(at)) else {
            panic!("one of each is noted: {noted:?}");
        };
        assert_eq!(*first, What::SendFailed { why: SendFailure::Unreachable, count: 1 });
        assert_eq!(noted.len(), 4, "{noted:?}");
    });
    drop(waiting);
}
