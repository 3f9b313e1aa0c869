use super::By;
use super::harness::{Net, public};
use super::line::link_end;
use crate::link::{CloseReason, End};
use crate::secure::audit::What;
use crate::secure::endpoint::harness::address;
use greenroom::net::{ConnectError, Identity, LinkEnd, Order};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::sync::oneshot::Receiver;
use tokio::sync::oneshot::error::TryRecvError;

const SECOND: Duration = Duration::from_secs(1);

/// Who waits for an attempt is told when the lock of the station is free.
#[test]
fn outcomes_are_told_with_the_wakes() {
    let mut net = Net::new(2, true);
    let mut itself = net.connect(0, address(1), Some(public(1)), true);
    let mut other = net.connect(0, address(2), Some(public(2)), true);
    assert_eq!(itself.try_recv(), Err(TryRecvError::Empty));
    net.collect();
    assert!(matches!(itself.try_recv(), Ok(Err(ConnectError::Unreachable { .. }))));
    net.settle();
    assert!(matches!(other.try_recv(), Ok(Ok(_))));
}

/// [UDP-25]: the handshake that goes on is that of a node which then dies.
#[test]
fn who_gave_way_hears_that_the_other_is_gone() {
    let mut net = Net::new(2, true);
    let (winner, loser) = if public(1) < public(2) { (0, 1) } else { (1, 0) };
    let at = net.hosts[winner].at;
    let key = net.hosts[winner].station.endpoint.public();
    let mut outcome = net.connect(loser, at, Some(key), true);
    let loser_at = net.hosts[loser].at;
    let loser_key = net.hosts[loser].station.endpoint.public();
    let _winners = net.connect(winner, loser_at, Some(loser_key), true);
    net.collect();
    let asked: Vec<_> = net.wire.drain(..).filter(|(to, ..)| *to == loser_at).collect();
    asked.into_iter().for_each(|datagram| net.deliver(datagram));
    net.hosts.remove(winner);
    net.pass(88 * SECOND);
    assert_eq!(outcome.try_recv(), Err(TryRecvError::Empty));
    net.pass(8 * SECOND);
    assert!(matches!(outcome.try_recv(), Ok(Err(ConnectError::Unreachable { .. }))));
}

/// [UDP-70]: silent addresses do not hold up a live one, more of them than are asked at once for a second.
#[test]
fn a_live_address_is_met_among_silent_ones() {
    for (silent, turns) in [(40, 0), (100, 1)] {
        let mut net = Net::new(2, false);
        let lost: Vec<_> =
            (100..100 + silent).map(|host| net.connect(0, address(host), None, false)).collect();
        let mut found = net.connect(0, address(2), None, false);
        net.settle();
        for _ in 0..turns {
            assert_eq!(found.try_recv(), Err(TryRecvError::Empty));
            net.pass(SECOND);
        }
        assert!(matches!(found.try_recv(), Ok(Ok(_))), "{silent}");
        // Nobody is asked any more for whom nobody waits.
        drop(lost);
        net.pass(3 * SECOND);
        let mut again = net.connect(0, address(3), None, false);
        net.wire.clear();
        net.pass(SECOND);
        assert_eq!(again.try_recv(), Err(TryRecvError::Empty));
    }
}

/// [UDP-70]: also where whoever waited for those that are asked is forgotten for another reason than an answer.
#[test]
fn an_address_has_its_turn_when_others_are_forgotten() {
    let mut net = Net::new(0, false);
    net.config.contacts_max = 2;
    for host in [1, 2] {
        let host = net.host(host, 0);
        net.hosts.push(host);
    }
    let silent = [100, 101].map(|host| net.connect(0, address(host), None, false));
    let mut found = net.connect(0, address(2), None, false);
    net.settle();
    assert_eq!(found.try_recv(), Err(TryRecvError::Empty));
    drop(silent);
    let _known = net.connect(0, address(102), Some(public(9)), true);
    net.pass(SECOND);
    assert!(matches!(found.try_recv(), Ok(Ok(_))));
}

/// [UDP-71]: also of more addresses than are asked at once each turn.
#[test]
fn who_waits_for_silent_addresses_hears_of_it() {
    for (silent, is_known) in [(1, true), (1, false), (2, false), (3, false), (7, false)] {
        let mut net = Net::new(0, false);
        (net.config.contacts_max, net.config.give_up_after) = (2, 5 * SECOND);
        net.hosts.push(net.host(1, 0));
        let connect = |host| net.connect(0, address(host), Some(public(host)), is_known);
        let mut waiting: Vec<_> = (100..100 + silent).map(connect).collect();
        net.pass(4 * SECOND);
        let is_open = |outcome: &mut Receiver<_>| outcome.try_recv() == Err(TryRecvError::Empty);
        assert!(waiting.iter_mut().all(is_open), "{silent}");
        net.pass(SECOND);
        for outcome in &mut waiting {
            assert!(matches!(outcome.try_recv(), Ok(Err(ConnectError::Unreachable { .. }))));
        }
        net.pass(5 * SECOND);
        assert_eq!(net.due(), None, "nobody is asked any more");
    }
}

/// [UDP-79]: members may name as many as they like, each at many addresses; whoever waits for them soon gives up.
#[test]
fn thousands_of_addresses_hold_nobody_up() {
    let mut net = Net::new(2, false);
    let address = |at: u32| SocketAddr::from((Ipv4Addr::from(0x0b00_0000 + at), 7));
    let waiting: Vec<_> = (0..2_500)
        .map(|at| net.connect_among(0, (16 * at..16 * at + 16).map(address).collect(), None, false))
        .collect();
    let known = (0..2_500).map(|at| net.connect(0, address(at), Some(public(2)), true));
    let known: Vec<_> = known.collect();
    net.pass(2 * SECOND);
    drop((waiting, known));
    let mut found = net.connect(0, net.hosts[1].at, None, false);
    net.pass(2 * SECOND);
    assert!(matches!(found.try_recv(), Ok(Ok(_))));
}

/// [UDP-79]: members tell of more than have their turn while an attempt to reach a seed lasts. The seed is among them, or not.
#[test]
fn what_others_tell_does_not_hold_up_what_the_owner_gives() {
    for is_told in [false, true] {
        let mut net = Net::new(2, false);
        let _told = tell_thousands(&mut net, is_told);
        net.pass(SECOND * 9 / 10);
        let mut found = net.connect(0, address(2), None, false);
        net.collect();
        let asked: Vec<_> = net.wire.drain(..).filter(|(to, ..)| *to == address(2)).collect();
        assert_eq!(asked.len(), 1, "{is_told}: it is asked at once");
        // The turn of the others ends before the answer is there.
        net.pass(SECOND / 5);
        asked.into_iter().for_each(|datagram| net.deliver(datagram));
        net.settle();
        assert!(matches!(found.try_recv(), Ok(Ok(_))), "{is_told}");
    }
}

/// [UDP-79]: half of the places are theirs, however many the owner gives.
#[test]
fn what_the_owner_gives_does_not_hold_up_what_others_tell() {
    let mut net = Net::new(2, false);
    let _silent: Vec<_> =
        (100..200).map(|host| net.connect(0, address(host), None, false)).collect();
    let mut told = net.connect_by(By::Others, 0, vec![address(2)], None, false);
    net.settle();
    assert!(matches!(told.try_recv(), Ok(Ok(_))));
}

/// Others tell of thousands of addresses where nobody is, and of that of the second host too.
fn tell_thousands(
    net: &mut Net,
    and_the_second: bool,
) -> Vec<Receiver<Result<Identity, ConnectError>>> {
    let silent = |at: u32| SocketAddr::from((Ipv4Addr::from(0x0b00_0000 + at), 7));
    let mut told: Vec<Vec<_>> =
        (0..1_000).map(|at| (16 * at..16 * at + 16).map(silent).collect()).collect();
    if and_the_second {
        told.push(vec![address(2)]);
    }
    told.into_iter().map(|at| net.connect_by(By::Others, 0, at, None, false)).collect()
}

/// [UDP-76]
#[test]
fn who_is_connected_is_found_by_its_address_and_keeps_its_keys() {
    let mut net = Net::new(2, false);
    for _ in 0..6 {
        let mut found = net.connect(0, address(2), None, false);
        net.settle();
        assert!(matches!(found.try_recv(), Ok(Ok(_))));
        net.pass(SECOND / 2);
    }
    for host in &net.hosts {
        let kinds = host.station.audit().entries().map(|entry| entry.what);
        let kinds: Vec<_> = kinds.filter(|what| !matches!(what, What::Rejected { .. })).collect();
        assert!(matches!(kinds[..], [What::Learned { .. }, What::Associated { .. }]), "{kinds:?}");
    }
}

/// [UDP-76]
#[test]
fn who_reaches_itself_is_told_so_at_once() {
    let mut net = Net::new(1, false);
    let mut itself = net.connect(0, address(1), None, false);
    net.settle();
    let Ok(Err(ConnectError::Unreachable { text, .. })) = itself.try_recv() else {
        panic!("it has an outcome");
    };
    assert_eq!(text, "that is this node itself");
    let mut both = net.connect_among(0, vec![address(1), address(9)], None, false);
    net.settle();
    assert_eq!(both.try_recv(), Err(TryRecvError::Empty), "the other address is still asked");
    drop(both);
    net.pass(95 * SECOND);
    assert_eq!(net.due(), None, "nobody is asked any more");
}

/// [UDP-73]: where nobody is, and where another node is.
#[test]
fn of_several_addresses_each_is_tried() {
    for (elsewhere, key, is_known) in [
        (77, Some(public(2)), true),
        (77, Some(public(2)), false),
        (77, None, false),
        (3, Some(public(2)), true),
        (3, Some(public(2)), false),
    ] {
        let mut net = Net::new(3, false);
        net.hosts[1].station.allow(public(1));
        let places = vec![address(elsewhere), address(2)];
        let mut outcome = net.connect_among(0, places, key, is_known);
        net.pass(SECOND);
        let found = outcome.try_recv().expect("it has an outcome").expect("it is reached");
        assert_eq!(found, net.hosts[1].station.identity(), "{elsewhere} {key:?} {is_known}");
    }
}

/// [UDP-73] [UDP-71]
#[test]
fn who_is_at_none_of_several_addresses_is_given_up_once() {
    for is_known in [true, false] {
        let mut net = Net::new(1, false);
        let places = vec![address(77), address(78)];
        let mut outcome = net.connect_among(0, places, Some(public(2)), is_known);
        net.pass(89 * SECOND);
        assert_eq!(outcome.try_recv(), Err(TryRecvError::Empty));
        net.pass(SECOND);
        assert!(matches!(outcome.try_recv(), Ok(Err(ConnectError::Unreachable { .. }))));
    }
}

/// [UDP-73]: where nobody has asked yet, and no more where nobody waits any more.
#[test]
fn a_new_address_of_a_node_is_asked_at_once() {
    for is_wanted in [true, false] {
        let mut net = Net::new(2, true);
        let mut first = net.connect(0, address(77), Some(public(2)), true);
        net.pass(4 * SECOND);
        assert_eq!(first.try_recv(), Err(TryRecvError::Empty));
        if !is_wanted {
            first.close();
        }
        let mut second = net.connect(0, address(2), Some(public(2)), true);
        net.collect();
        let asked: Vec<_> = net.wire.iter().map(|(to, ..)| *to).collect();
        assert_eq!(asked, [address(2)]);
        net.wire.clear();
        net.pass(10 * SECOND);
        assert!(matches!(second.try_recv(), Ok(Ok(_))), "{is_wanted}");
    }
}

/// [UDP-73]: others may tell of a node as often as they like, at as many addresses.
#[test]
fn addresses_that_others_tell_do_not_undo_an_attempt() {
    for by in [By::Owner, By::Others] {
        let mut net = Net::new(2, true);
        let mut first = net.connect_by(by, 0, vec![address(2)], Some(public(2)), true);
        net.collect();
        let told = |host| net.connect_by(By::Others, 0, vec![address(host)], Some(public(2)), true);
        let told: Vec<_> = (100..200).map(told).collect();
        net.collect();
        let asked: Vec<_> = net.wire.iter().map(|(to, ..)| *to).collect();
        assert_eq!(asked, [address(2)], "{by:?}");
        net.settle();
        assert!(matches!(first.try_recv(), Ok(Ok(_))), "{by:?}");
        drop(told);
    }
    // Where nobody is, they are tried in their turn.
    let mut net = Net::new(2, true);
    let mut first = net.connect(0, address(77), Some(public(2)), true);
    net.collect();
    let _told = net.connect_by(By::Others, 0, vec![address(2)], Some(public(2)), true);
    net.pass(10 * SECOND);
    assert!(matches!(first.try_recv(), Ok(Ok(_))));
}

/// [UDP-71]: who comes later to the same address waits as long as who comes first.
#[test]
fn who_asks_late_for_a_silent_node_waits_in_full() {
    let mut net = Net::new(1, false);
    let mut early = net.connect(0, address(77), Some(public(2)), true);
    net.pass(60 * SECOND);
    let mut late = net.connect(0, address(77), Some(public(2)), true);
    net.pass(60 * SECOND);
    assert!(matches!(early.try_recv(), Ok(Err(ConnectError::Unreachable { .. }))));
    assert_eq!(late.try_recv(), Err(TryRecvError::Empty));
    net.pass(30 * SECOND);
    assert!(matches!(late.try_recv(), Ok(Err(ConnectError::Unreachable { .. }))));
}

/// A node with two addresses asks from one of them, while this one waits for it at the other.
#[test]
fn who_asks_from_elsewhere_is_found_by_its_key() {
    let mut net = Net::new(2, false);
    let mut waiting = net.connect(0, address(77), Some(public(2)), false);
    let mut asking = net.connect(1, address(1), None, false);
    net.settle();
    assert!(matches!(asking.try_recv(), Ok(Ok(_))));
    assert!(matches!(waiting.try_recv(), Ok(Ok(_))));
}

/// Both ends that are told at once, without an acknowledgement: what came, and then how it ended.
#[test]
fn who_departs_says_so() {
    for (is_settled, end) in [(true, LinkEnd::Closed), (false, LinkEnd::Lost)] {
        let mut net = Net::new(2, true);
        let [ours, theirs] = net.join(0, 1);
        assert!(net.submit(0, ours, Order::Free, b"last"));
        net.collect();
        if is_settled {
            net.pass(SECOND);
        }
        net.hosts[0].station.depart();
        net.collect();
        assert!(net.hosts[0].station.is_closed);
        // What is gone hears nothing.
        net.hosts.remove(0);
        net.hosts.insert(0, net.host(3, 0));
        net.settle();
        assert_eq!(net.receive(1, theirs), Some(Ok(b"last".to_vec())));
        assert_eq!(net.receive(1, theirs), Some(Err(end)));
        let reason = if is_settled { CloseReason::Shutdown } else { CloseReason::Unsettled };
        assert_eq!(net.hosts[1].station.audit().link_ended(End::ClosedByPeer(reason)), 1);
    }
}

/// Who is refused for a rule hears so, also of a rule that it does not know.
#[test]
fn who_leaves_early_and_who_refuses_are_told_apart() {
    for (reason, end) in [
        (CloseReason::Shutdown, LinkEnd::Closed),
        (CloseReason::Unsettled, LinkEnd::Lost),
        (CloseReason::NothingAcked, LinkEnd::Refused),
        (CloseReason::Other(u64::MAX), LinkEnd::Refused),
    ] {
        assert_eq!(link_end(End::ClosedByPeer(reason)), end);
    }
}

/// Each line has the frames of its own node.
#[test]
fn lines_are_apart() {
    let mut net = Net::new(3, true);
    let [first, to_first] = net.join(1, 0);
    let [second, to_second] = net.join(2, 0);
    assert!(net.submit(1, first, Order::Free, b"from the first"));
    assert!(net.submit(2, second, Order::Free, b"from the second"));
    net.pass(SECOND);
    assert_eq!(net.receive(0, to_second), Some(Ok(b"from the second".to_vec())));
    assert_eq!(net.receive(0, to_first), Some(Ok(b"from the first".to_vec())));
    assert_eq!((net.receive(0, to_first), net.receive(0, to_second)), (None, None));
}

/// [UDP-45] [LINK-75] [LINK-76]: an end that has forgotten the line begins another one, and is not taken for the one before.
#[test]
fn a_forgotten_line_ends_before_the_next_begins() {
    let mut net = Net::new(2, true);
    let [ours, theirs] = net.join(0, 1);
    assert!(net.submit(1, theirs, Order::Free, b"old"));
    net.wire.clear();
    net.hosts[0].station.endpoint.close(net.now, ours);
    net.hosts[0].station.take_events();
    net.collect();
    net.wire.clear();
    let [new, new_theirs] = net.join(0, 1);
    assert!(new != ours && new_theirs != theirs);
    assert_eq!(net.receive(1, theirs), Some(Err(LinkEnd::Lost)));
    assert_eq!(net.receive(0, new), None, "what was sent by the old line");
    assert!(net.submit(1, new_theirs, Order::Free, b"new"));
    net.pass(SECOND);
    assert_eq!(net.receive(0, new), Some(Ok(b"new".to_vec())));
}

/// Both nodes know why a line ended, and say so.
#[test]
fn whoever_breaks_the_rules_of_a_line_is_named() {
    let mut net = Net::new(3, true);
    // What the others may send is too long for it.
    net.hosts[1].station.lane.message_len_max = 1 << 10;
    let [ours, theirs] = net.join(0, 1);
    assert!(net.submit(0, ours, Order::Free, &[7; 2 << 10]));
    net.pass(SECOND);
    assert_eq!(net.receive(1, theirs), Some(Err(LinkEnd::Misbehaved)));
    assert_eq!(net.receive(0, ours), Some(Err(LinkEnd::Refused)));
    let reason = CloseReason::MessageTooBig;
    for (host, peer, end) in [(1, 1, End::Misbehaved(reason)), (0, 2, End::ClosedByPeer(reason))] {
        let audit = net.hosts[host].station.audit();
        let what = What::LinkEnded { peer: public(peer), end };
        assert_eq!(audit.link_ended(end), 1);
        assert_eq!(audit.entries().filter(|entry| entry.what == what).count(), 1);
    }
    let [ours, _] = net.join(0, 2);
    net.hosts.remove(2);
    net.pass(60 * SECOND);
    assert_eq!(net.receive(0, ours), Some(Err(LinkEnd::Silent)));
    assert_eq!(net.hosts[0].station.audit().link_ended(End::Silent), 1);
}

/// What was taken makes room for as much again, also by a line after another one.
#[test]
fn credit_comes_back_on_every_line() {
    let mut net = Net::new(2, true);
    for _ in 0..2 {
        let [ours, theirs] = net.join(0, 1);
        let mut taken = 0;
        while taken < 100 << 10 {
            while net.submit(0, ours, Order::Free, &[7; 1_000]) {}
            net.pass(SECOND);
            let before = taken;
            while let Some(received) = net.receive(1, theirs) {
                taken += received.expect("the line is open").len();
            }
            assert!(taken > before, "nothing comes any more after {taken} bytes");
        }
        net.hosts[0].station.disown(ours);
        net.pass(SECOND);
        while let Some(Ok(_)) = net.receive(1, theirs) {}
        net.hosts[1].station.disown(theirs);
        net.pass(SECOND);
    }
}

/// A frame behind all others waits for those that were lost on the way.
#[test]
fn what_is_behind_all_waits_for_all() {
    let mut net = Net::new(2, true);
    let [ours, theirs] = net.join(0, 1);
    net.pass(SECOND);
    assert!(net.submit(0, ours, Order::Within(1), b"first"));
    net.collect();
    net.wire.clear();
    assert!(net.submit(0, ours, Order::BehindAll, b"last"));
    net.settle();
    assert_eq!(net.receive(1, theirs), None);
    net.pass(SECOND);
    assert_eq!(net.receive(1, theirs), Some(Ok(b"first".to_vec())));
    assert_eq!(net.receive(1, theirs), Some(Ok(b"last".to_vec())));
}
