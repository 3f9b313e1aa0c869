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
        };
        send(&mut sender);
        let first = since(&sender);
        assert!(matches!(first, Some((true, _))));
        send(&mut sender);
        sender.send_cut(Some(gone), to.address(), &[7; 300]).expect("it is sent");
        assert_eq!(since(&sender), first);
        let long_ago = Instant::now().checked_sub(REFUSED_FOR);
        sender.refused = Some((gone, long_ago.expect("the machine runs for longer")));
        send(&mut sender);
        assert!(since(&sender) > first, "the machine may have it again");
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
    sender.invalid.known.iter_mut().for_each(|(_, since)| *since += Duration::from_secs(3600));
    let first = sender.invalid.known.clone();
    let known: Vec<_> = first.iter().map(|(place, _)| *place).collect();
    assert_eq!(known, [nowhere(2), nowhere(1)]);
    fails(&mut sender, nowhere(1));
    sender.send_cut(None, nowhere(2), &[7; 300]).expect_err("it is refused");
    assert_eq!(sender.invalid.known, first);
    let sent = sender.send_from(None, to.address(), Ecn::Capable0, &[7; 300], segment);
    sent.expect("other places are reached");
    let long_ago = Instant::now().checked_sub(REFUSED_FOR).expect("the machine runs for longer");
    sender.invalid.known.iter_mut().for_each(|(_, since)| *since = long_ago);
    fails(&mut sender, nowhere(1));
    assert_eq!(sender.invalid.known.front().map(|(_, since)| *since > long_ago), Some(true));
    (1..100).for_each(|last| fails(&mut sender, nowhere(last)));
    assert_eq!(sender.invalid.known.len(), PLACES_MAX);
}

/// [UDP-34]: a place whose way does not take long sends, by the kernel's word, costs the others neither them nor marks.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_place_that_takes_no_segments_leaves_them_to_the_others() {
    let (mut sender, to) = (socket(places()[0].0), socket(places()[0].0));
    let segments = sender.segments_max();
    if segments == 1 {
        eprintln!("not tested: this kernel does not cut datagrams");
        return;
    }
    let segment = NonZeroUsize::new(100).expect("not zero");
    let send = |sender: &mut Socket| {
        let sent = sender.send_from(None, to.address(), Ecn::Capable0, &[7; 300], segment);
        sent.expect("it is sent");
    };
    // What the kernel says of this one leaves the socket as it is where the way to a peer takes none.
    let halt = |sender: &Socket| {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        sender.send(nowhere, &[7; 300], segment).expect_err("nobody has that port");
        assert_eq!(sender.segments_max(), 1);
    };
    halt(&sender);
    send(&mut sender);
    assert_eq!(sender.segments_max(), segments, "others are sent to as before");
    assert!(sender.uncut.has(way(to.address())), "and that one is not asked for again at once");
    let first = sender.uncut.known.clone();
    send(&mut sender);
    assert_eq!((sender.segments_max(), &sender.uncut.known), (segments, &first));
    // Where it is so of every place it is left at that for a while.
    (1..100).for_each(|host| sender.uncut.insert(way(([192, 0, 2, host], 1).into())));
    halt(&sender);
    send(&mut sender);
    assert_eq!((sender.segments_max(), sender.uncut.known.len()), (1, PLACES_MAX));
    let long_ago = Instant::now().checked_sub(UNCUT_FOR).expect("the machine runs for longer");
    sender.uncut.known.iter_mut().for_each(|(_, since)| *since = long_ago);
    send(&mut sender);
    assert_eq!(sender.segments_max(), segments, "the way there may be another one");
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
