#[path = "../../../tests/loopbacks/mod.rs"]
mod loopbacks;

use super::places::{PLACES_MAX, way};
use super::*;
use loopbacks::loopbacks;

/// Places for sockets, and for each an address of its family that the machine does not have.
fn places() -> Vec<(SocketAddr, IpAddr)> {
    let gone = |at: &SocketAddr| if at.is_ipv4() { "192.0.2.1" } else { "2001:db8::1" };
    loopbacks().into_iter().map(|at| (at, gone(&at).parse().expect("an address"))).collect()
}

fn socket(address: SocketAddr) -> Socket {
    Socket::bind(address, &Options::default()).expect("a port is free")
}

/// [UDP-52]: what leaves goes without the address, and the kernel is not asked again at once.
#[tokio::test]
async fn an_address_that_is_refused_is_not_tried_again_at_once() {
    for (at, gone) in places() {
        let (mut sender, to) = (socket(at), socket(at));
        let segments = sender.segments_max();
        let segment = NonZeroUsize::new(100).expect("not zero");
        let since = |socket: &Socket| socket.refused.map(|(source, since)| (source == gone, since));
        let send = |sender: &mut Socket| {
            sender
                .send_from(Some(gone), to.address(), Ecn::NotCapable, &[7; 300], segment)
                .expect("it is sent");
            assert_eq!(sender.segments_max(), segments);
            assert!(sender.uncut.known.is_empty(), "that says nothing of the way");
        };
        send(&mut sender);
        // However long this takes.
        if let Some((_, since)) = &mut sender.refused {
            *since += Duration::from_secs(3600);
        }
        let first = since(&sender);
        assert!(matches!(first, Some((true, _))));
        send(&mut sender);
        sender.send_cut(Some(gone), to.address(), &[7; 300]).expect("it is sent");
        assert_eq!(since(&sender), first);
        let long_ago = Instant::now().checked_sub(REFUSED_FOR);
        sender.refused = Some((gone, long_ago.expect("the machine runs for longer")));
        let before = since(&sender);
        send(&mut sender);
        assert!(since(&sender) > before, "the machine may have it again");
    }
}

/// [UDP-52]: where anybody may make a network of his own; it has a rule that forbids one of its addresses to be sent from.
#[cfg(target_os = "linux")]
#[test]
fn what_may_not_leave_from_an_address_leaves_from_another() {
    let apart = |who: &[&str], then: &str| {
        let rules = "ip link set lo up && ip rule add pref 1 from 127.0.0.3 prohibit && \
            ip rule add pref 2 lookup local && ip rule del pref 0";
        let mut command = std::process::Command::new("unshare");
        command.args(who).args(["--net", "sh", "-c", &format!("{rules} && {then}")]);
        command.arg(std::env::current_exe().expect("it runs")).output()
    };
    // Root needs no users of its own, and some containers have none.
    let all: [&[&str]; 2] = [&[], &["--user", "--map-root-user"]];
    let may = |who: &&&[&str]| apart(who, "true").is_ok_and(|made| made.status.success());
    let Some(who) = all.iter().find(may) else {
        let must = ["CI", "GREENROOM_FAULT"].iter().any(|name| std::env::var_os(name).is_some());
        assert!(!must, "this machine lets nobody make a network of his own, or has no `ip`");
        eprintln!("not tested: this machine lets nobody make a network of his own");
        return;
    };
    let ran =
        apart(who, "\"$0\" --exact udp::socket::tests::forbidden --ignored").expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "is started by another, in a network where 127.0.0.3 is forbidden"]
async fn forbidden() {
    let (mut sender, to) = (socket(places()[0].0), socket(places()[0].0));
    let forbidden = IpAddr::from([127, 0, 0, 3]);
    let segment = NonZeroUsize::new(100).expect("not zero");
    let sent = sender.send_from(Some(forbidden), to.address(), Ecn::NotCapable, &[7; 300], segment);
    sent.expect("it leaves from another address");
    assert_eq!(sender.refused.map(|(source, _)| source), Some(forbidden));
}

/// What is refused for another reason says nothing of the source.
#[tokio::test]
async fn a_place_that_cannot_be_reached_leaves_the_source() {
    let mut sender = socket(places()[0].0);
    let segments = sender.segments_max();
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let segment = NonZeroUsize::new(100).expect("not zero");
    let here = IpAddr::from([127, 0, 0, 1]);
    for source in [Some(here), None] {
        for _ in 0..3 {
            let sent = sender.send_from(source, nowhere, Ecn::Capable0, &[7; 300], segment);
            assert!(sent.is_err());
            assert_eq!(sender.refused, None);
            // Otherwise the kernel is not asked the next time.
            sender.invalid = Places::new(REFUSED_FOR);
            assert_eq!(sender.segments_max(), segments, "other places are reached as before");
        }
    }
}

/// To be told so takes many calls, which a peer whose address leads nowhere must not cost for each datagram.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_place_that_is_refused_is_not_tried_again_at_once() {
    let (mut sender, to) = (socket(places()[0].0), socket(places()[0].0));
    let segment = NonZeroUsize::new(100).expect("not zero");
    let nowhere = |last: u8| SocketAddr::from(([127, 0, 0, last], 0));
    let fails = |sender: &mut Socket, place| {
        let sent = sender.send_from(None, place, Ecn::Capable0, &[7; 300], segment);
        assert!(matches!(sent, Err((0, SendError::Other(_)))), "{sent:?}");
    };
    fails(&mut sender, nowhere(1));
    fails(&mut sender, nowhere(2));
    // However long this takes.
    sender.invalid.known.values_mut().for_each(|since| *since += Duration::from_secs(3600));
    let first = sender.invalid.known.clone();
    assert!(first.keys().eq(&[nowhere(1), nowhere(2)]));
    fails(&mut sender, nowhere(1));
    sender.send_cut(None, nowhere(2), &[7; 300]).expect_err("it is refused");
    assert_eq!(sender.invalid.known, first);
    let sent = sender.send_from(None, to.address(), Ecn::Capable0, &[7; 300], segment);
    sent.expect("other places are reached");
    let long_ago = Instant::now().checked_sub(REFUSED_FOR).expect("the machine runs for longer");
    sender.invalid.known.values_mut().for_each(|since| *since = long_ago);
    fails(&mut sender, nowhere(1));
    assert!(sender.invalid.known[&nowhere(1)] > long_ago);
}

/// However many places there are, the memory for them has an end.
#[test]
fn the_place_that_is_known_for_longest_is_forgotten() {
    let mut places = Places::new(REFUSED_FOR);
    let place = |port: usize| SocketAddr::from(([192, 0, 2, 1], u16::try_from(port).unwrap()));
    (0..PLACES_MAX).for_each(|port| places.insert(place(port)));
    places.insert(place(0));
    places.insert(place(PLACES_MAX));
    assert_eq!(places.known.len(), PLACES_MAX);
    let are_known = [0, 1, 2, PLACES_MAX].map(|port| places.known.contains_key(&place(port)));
    assert_eq!(are_known, [true, false, true, true]);
}

/// What the kernel says where the way to a peer takes no long sends, which leaves the socket without them and without
/// marks.
#[cfg(target_os = "linux")]
fn takes_no_segments(
    state: &UdpSocketState,
    io: UdpSockRef<'_>,
    transmit: &quinn_udp::Transmit<'_>,
) -> io::Result<()> {
    // Nobody has that port, and the kernel says the same of it.
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let is_long = transmit.segment_size.is_some();
    let destination = if is_long { nowhere } else { transmit.destination };
    let sent = state.try_send(io, &quinn_udp::Transmit { destination, ..transmit.clone() });
    assert!(!is_long || (sent.is_err() && state.max_gso_segments() == 1));
    sent
}

/// A socket whose ways take no long sends; none where the kernel takes none anyway.
#[cfg(target_os = "linux")]
fn tunnelled() -> Option<Socket> {
    let sender = socket(places()[0].0);
    if sender.segments_max() == 1 {
        eprintln!("not tested: this kernel does not cut datagrams");
        return None;
    }
    Some(Socket { call: takes_no_segments, ..sender })
}

/// [UDP-34]: a place whose way does not take long sends, by the kernel's word, costs the others neither them nor marks.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_place_that_takes_no_segments_leaves_them_to_the_others() {
    let (Some(mut sender), to) = (tunnelled(), socket(places()[0].0)) else { return };
    let segments = sender.segments_max();
    let segment = NonZeroUsize::new(100).expect("not zero");
    let send = |sender: &mut Socket, to: SocketAddr| {
        let sent = sender.send_from(None, to, Ecn::Capable0, &[7; 300], segment);
        sent.expect("it is sent");
        assert_eq!(sender.segments_max(), segments, "others are sent to as before");
        assert!(sender.uncut.has(way(to)), "and that one is not asked for again at once");
    };
    send(&mut sender, to.address());
    let first = sender.uncut.known.clone();
    send(&mut sender, to.address());
    assert_eq!(sender.uncut.known, first);
    // However many there are of them.
    (1..100).for_each(|host| send(&mut sender, ([127, 0, 1, host], to.address().port()).into()));
    assert_eq!(sender.uncut.known.len(), 100);
    let long_ago = Instant::now().checked_sub(UNCUT_FOR).expect("the machine runs for longer");
    sender.uncut.known.values_mut().for_each(|since| *since = long_ago);
    sender.call = UdpSocketState::try_send;
    sender
        .send_from(None, to.address(), Ecn::Capable0, &[7; 300], segment)
        .expect("the way there may be another one");
    assert!(!sender.uncut.has(way(to.address())));
}

/// [UDP-34]: the peer would miss marks, and have none for as long as packets take that path.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_goes_one_by_one_after_all_is_marked() {
    let (Some(mut sender), to) = (tunnelled(), socket(places()[0].0)) else { return };
    let segment = NonZeroUsize::new(100).expect("not zero");
    for _ in 0..2 {
        sender
            .send_from(None, to.address(), Ecn::Capable0, &[7; 350], segment)
            .expect("it is sent");
        all_marked(&to, 4).await;
    }
}

/// Waits until so many datagrams have come, each with its mark.
#[cfg(target_os = "linux")]
async fn all_marked(to: &Socket, count: usize) {
    let (mut batch, mut came) = (Batch::new(), 0);
    while came < count {
        let readable = std::future::poll_fn(|cx| to.poll_readable(cx));
        let readable = tokio::time::timeout(Duration::from_secs(100), readable).await;
        readable.expect("it arrives").expect("the socket is there");
        to.receive(&mut batch).expect("the socket is there");
        for (arrival, _) in batch.datagrams() {
            assert_eq!(arrival.ecn, Ecn::Capable0, "the datagram {came}");
            came += 1;
        }
    }
}

/// A place whose way takes no marks.
#[cfg(target_os = "linux")]
const UNMARKED: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 1, 1));

/// What the kernel says where the way there takes no marks, which leaves the socket without them and without long sends; and
/// then it leaves.
#[cfg(target_os = "linux")]
fn takes_no_marks(
    state: &UdpSocketState,
    io: UdpSockRef<'_>,
    transmit: &quinn_udp::Transmit<'_>,
) -> io::Result<()> {
    if transmit.destination.ip() == UNMARKED {
        let other = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        // Nobody has that port, and the kernel says the same of it.
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let refused = quinn_udp::Transmit { destination: nowhere, ..transmit.clone() };
        state.try_send((&other).into(), &refused).expect_err("it is refused");
        assert_eq!(state.max_gso_segments(), 1);
    }
    state.try_send(io, transmit)
}

/// [UDP-34]: also where nothing is cut for a while anyway.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_place_that_takes_no_marks_leaves_them_to_the_others() {
    let (mut sender, to) = (socket(places()[0].0), socket(places()[0].0));
    let segments = sender.segments_max();
    if segments == 1 {
        eprintln!("not tested: this kernel does not cut datagrams");
        return;
    }
    sender.call = takes_no_marks;
    let unmarked = SocketAddr::new(UNMARKED, to.address().port());
    let segment = NonZeroUsize::new(100).expect("not zero");
    // The first time, and from then on.
    for _ in 0..3 {
        sender.send_from(None, unmarked, Ecn::Capable0, &[7; 350], segment).expect("it is sent");
        assert!(sender.uncut.has(way(unmarked)));
    }
    // Whether the other one takes long sends, or not.
    for is_uncut in [false, true] {
        if is_uncut {
            sender.uncut.insert(way(to.address()));
            sender.send_from(None, unmarked, Ecn::Capable0, &[7], segment).expect("it is sent");
        }
        assert_eq!(sender.segments_max(), 1, "it does without for that place alone");
        sender
            .send_from(None, to.address(), Ecn::Capable0, &[7; 350], segment)
            .expect("it is sent");
        assert_eq!(sender.uncut.has(way(to.address())), is_uncut, "it is not to blame");
        assert_eq!(sender.segments_max(), segments);
        all_marked(&to, 4).await;
    }
}

/// [UDP-33]: the socket's options that are set anew in between would cut nothing.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_may_be_cut_may_be_so_without_its_source() {
    use rustix::net::sockopt::{Ipv6PathMtuDiscovery, ipv6_mtu_discover};
    let Some((at, gone)) = places().into_iter().find(|(at, _)| at.is_ipv6()) else { return };
    let (mut sender, to) = (socket(at), socket(at));
    let segment = NonZeroUsize::new(1_300).expect("not zero");
    cutting::set(sender.io.socket(), to.address(), true);
    let sent = sender.send_or_without(
        Some(gone),
        to.address(),
        Ecn::NotCapable,
        &[7; 1_300],
        segment,
        true,
    );
    sent.expect("it is sent");
    assert!(sender.refused.is_some());
    assert_eq!(ipv6_mtu_discover(sender.io.socket()), Ok(Ipv6PathMtuDiscovery::DONT));
}
