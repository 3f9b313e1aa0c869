use super::super::harness::{Net, public};
use super::*;
use crate::rdma::verbs::Endpoint;
use greenroom::net::LinkEnd;
use std::time::Duration;

/// Two joined stations with queue pairs that there are in words alone: first the one that offers.
struct Pair {
    net: Net,
    hosts: [usize; 2],
    lines: [AssociationId; 2],
}

fn terms(qpn: u32) -> Terms {
    Terms { endpoint: Endpoint { qpn, ..Endpoint::default() }, receives: 64, packet_bytes: 4096 }
}

impl Pair {
    fn new(trust: Trust) -> Self {
        Self::with_sockets(trust, 1 << 20)
    }

    /// With sockets for datagrams that hold so many bytes until they are read.
    fn with_sockets(trust: Trust, bytes: u64) -> Self {
        let mut net = Net::new(0, true);
        (net.config.lanes, net.config.window_bytes) = (LANES, bytes);
        for (host, other) in [(1, 2), (2, 1)] {
            let mut made = net.host(host, 0);
            made.station.allow(public(other));
            made.station.use_pairs((trust == Trust::Plain).then(|| public(other)));
            net.hosts.push(made);
        }
        let hosts = if public(1) < public(2) { [0, 1] } else { [1, 0] };
        let lines = net.join(hosts[0], hosts[1]);
        Self { net, hosts, lines }
    }

    /// The end that offers begins another life, and an association.
    fn begin_again(&mut self, life: u64) {
        let (host, other) = (self.hosts[0], self.hosts[1]);
        let mut made = self.net.host(host as u8 + 1, life);
        made.station.allow(public(other as u8 + 1));
        made.station.use_pairs([]);
        self.net.hosts[host] = made;
        let (at, key) = (self.net.hosts[other].at, public(other as u8 + 1));
        let mut outcome = self.net.connect(host, at, Some(key), true);
        while !matches!(outcome.try_recv(), Ok(Ok(_))) {
            self.net.pass(Duration::from_millis(100));
        }
        self.lines = [host, other].map(|host| self.net.hosts[host].lines.last().expect("a line").0);
    }

    fn station(&mut self, end: usize) -> &mut Station {
        &mut self.net.hosts[self.hosts[end]].station
    }

    /// Does all that the stations want, until they want nothing more.
    fn carry(&mut self) {
        let mut is_busy = true;
        while std::mem::take(&mut is_busy) {
            self.net.settle();
            for end in [0, 1] {
                let (now, [line, peer]) = (self.net.now, [self.lines[end], self.lines[1 - end]]);
                while let Some((_, want)) = self.station(end).poll_want() {
                    is_busy = true;
                    if let Some(attempt) = want.attempt() {
                        self.station(end).made(now, line, attempt, Ok(terms(end as u32)));
                    }
                }
                while let Some(mut packet) = self.packet(end) {
                    is_busy = true;
                    self.station(1 - end).handle_paired(now, peer, &mut packet);
                }
            }
        }
    }

    /// The next packet of an end by its queue pair.
    fn packet(&mut self, end: usize) -> Option<Vec<u8>> {
        let (now, mut slot) = (self.net.now, vec![0; 4096]);
        let station = self.station(end);
        station.handle_timeout(now);
        while let Some(id) = station.poll_paired(now, &mut |_| true) {
            let written = station.write_paired(id, &mut slot);
            if written > 0 {
                slot.truncate(written);
                return Some(slot);
            }
        }
        None
    }

    /// The peer of an end says a word, which comes at once.
    fn hear(&mut self, end: usize, word: Word) {
        let (now, peer) = (self.net.now, self.lines[1 - end]);
        let sealed = self.station(1 - end).seal_word(now, peer, word);
        let (_, mut packet) = sealed.expect("there are keys");
        let from = self.net.hosts[self.hosts[1 - end]].at;
        self.station(end).handle(now, from, &mut packet);
    }
}

// [RDMA-47]
#[test]
fn words_that_cannot_leave_do_not_pile_up() {
    let mut pair = Pair::new(Trust::Sealed);
    let (now, line) = (pair.net.now, pair.lines[1]);
    let offer = Word::Offer { attempt: 7, terms: terms(1), plain: false };
    pair.hear(1, offer);
    assert!(matches!(pair.station(1).poll_want(), Some((_, Want::Accept { .. }))));
    pair.station(1).made(now, line, 7, Ok(terms(2)));
    for _ in 0..100 {
        pair.hear(1, offer);
        pair.station(1).retry_pairs(now);
    }
    let waiting: Vec<_> = pair.station(1).pairs.words.values().copied().collect();
    assert_eq!(waiting, [Word::Accept { attempt: 7, terms: terms(2), plain: false }, Word::Again]);
}

// [RDMA-42]
#[test]
fn the_word_that_shows_a_queue_pair_waits_for_room() {
    let mut pair = Pair::new(Trust::Sealed);
    let (now, lines) = (pair.net.now, pair.lines);
    let mut shows = 0;
    while shows < 2 {
        pair.net.settle();
        for (end, line) in lines.into_iter().enumerate() {
            while let Some((_, want)) = pair.station(end).poll_want() {
                let attempt = want.attempt().expect("nothing has ended");
                pair.station(end).made(now, line, attempt, Ok(terms(end as u32)));
            }
            assert_eq!(pair.station(end).poll_paired(now, &mut |_| false), None);
            if let Some(mut packet) = pair.packet(end) {
                pair.station(1 - end).handle_paired(now, lines[1 - end], &mut packet);
                shows += 1;
            }
        }
    }
    for end in [0, 1] {
        let peer = public(1 + pair.hosts[1 - end] as u8);
        assert_eq!(pair.station(end).carrier(&peer), Some(Carrier::Rdma));
    }
}

/// Whether it ends by a word of the peer's, by itself, or with its line.
// [RDMA-42]
#[test]
fn what_has_ended_is_not_shown() {
    let ends: [fn(&mut Pair); 3] = [
        |pair| pair.hear(1, Word::End { attempt: 7 }),
        |pair| {
            let (now, line) = (pair.net.now, pair.lines[1]);
            pair.station(1).pair_ended(now, line, Why::NotMade);
        },
        |pair| {
            let line = pair.lines[1];
            pair.station(1).drop_pair(line);
        },
    ];
    for end in ends {
        let mut pair = Pair::new(Trust::Sealed);
        let (now, [peer, line]) = (pair.net.now, pair.lines);
        pair.hear(1, Word::Offer { attempt: 7, terms: terms(1), plain: false });
        pair.station(1).made(now, line, 7, Ok(terms(2)));
        let ready = pair.station(0).seal_word(now, peer, Word::Ready { attempt: 7 });
        let (_, mut packet) = ready.expect("there are keys");
        pair.station(1).handle_paired(now, line, &mut packet);
        assert_eq!(pair.station(1).pairs.shows, [line]);
        end(&mut pair);
        assert!(pair.station(1).pairs.shows.is_empty());
    }
}

/// There is no room in what it says that it takes, beside the keys and whatever a packet has at least.
// [RDMA-44] [RDMA-46]
#[test]
fn a_peer_that_takes_no_packets_is_left() {
    for packet_bytes in [0, 1, OVERHEAD_BYTES as u32, OVERHEAD_BYTES as u32 + 255] {
        let mut pair = Pair::new(Trust::Sealed);
        let (now, [peer, line]) = (pair.net.now, pair.lines);
        let lie = Terms { packet_bytes, ..terms(1) };
        pair.hear(1, Word::Offer { attempt: 7, terms: lie, plain: false });
        pair.station(1).made(now, line, 7, Ok(terms(2)));
        let ready = pair.station(0).seal_word(now, peer, Word::Ready { attempt: 7 });
        let (_, mut packet) = ready.expect("there are keys");
        pair.station(1).handle_paired(now, line, &mut packet);
        let key = public(1 + pair.hosts[0] as u8);
        assert_eq!(pair.station(1).carrier(&key), Some(Carrier::Udp(Why::NotMade)));
        assert!(pair.station(1).pairs.shows.is_empty());
        let last = std::iter::from_fn(|| pair.station(1).poll_want()).last();
        assert_eq!(last, Some((line, Want::End)));
    }
}

/// Somebody has seen a packet on its way to a peer of both, and hands it in there first, by its own queue pair.
// [RDMA-42]
#[test]
fn what_is_of_another_association_is_not_opened() {
    let mut net = Net::new(0, true);
    net.config.lanes = LANES;
    for host in 1..=3 {
        let mut made = net.host(host, 0);
        (1..=3).filter(|other| *other != host).for_each(|other| made.station.allow(public(other)));
        made.station.use_pairs([]);
        net.hosts.push(made);
    }
    // The one with the largest key takes offers.
    let mut hosts = [0_usize, 1, 2];
    hosts.sort_by_key(|host| public(*host as u8 + 1));
    let [other, owner, peer] = hosts;
    let [_, by] = net.join(other, peer);
    let [line, own] = net.join(owner, peer);
    let (now, from) = (net.now, net.hosts[owner].at);
    let offer = Word::Offer { attempt: 7, terms: terms(1), plain: false };
    let sealed = net.hosts[owner].station.seal_word(now, line, offer);
    let (_, mut packet) = sealed.expect("there are keys");
    let station = &mut net.hosts[peer].station;
    let before = station.audit().rejected(Reject::Index);
    station.handle_paired(now, by, &mut packet.clone());
    let rejected = station.audit().rejected(Reject::Index) - before;
    station.handle(now, from, &mut packet);
    let wants: Vec<_> = std::iter::from_fn(|| station.poll_want()).collect();
    let is_heard =
        |(id, want): &(AssociationId, Want)| *id == own && matches!(want, Want::Accept { .. });
    assert!(wants.iter().any(is_heard), "it was taken for a replay: {wants:?}");
    assert_eq!(rejected, 1);
}

/// Somebody on the path hands in by one way what goes by the other.
// [RDMA-42]
#[test]
fn what_goes_by_the_other_way_is_not_opened() {
    let mut pair = Pair::new(Trust::Sealed);
    pair.carry();
    let now = pair.net.now;
    let [own, there] = [pair.lines[0], pair.lines[1]];
    let lanes = [(LANE, true), (PACKETS, false)];
    for (lane, is_by_pair) in lanes {
        let mut packet = vec![0; 40];
        pair.station(1).endpoint.seal_next(now, there, lane, &mut packet).expect("there are keys");
        let from = pair.net.hosts[pair.hosts[1]].at;
        let station = pair.station(0);
        let before = [Reject::Lane, Reject::Replayed].map(|why| station.audit().rejected(why));
        // By the other way first, and then by its own.
        for by_pair in [is_by_pair, !is_by_pair] {
            let mut packet = packet.clone();
            if by_pair {
                station.handle_paired(now, own, &mut packet);
            } else {
                station.handle(now, from, &mut packet);
            }
        }
        let after = [Reject::Lane, Reject::Replayed].map(|why| station.audit().rejected(why));
        assert_eq!((after[0] - before[0], after[1] - before[1]), (1, 0), "lane {lane}");
    }
}

// [RDMA-48]
#[test]
fn offers_that_come_too_early_are_counted() {
    let mut pair = Pair::new(Trust::Sealed);
    for attempt in 0..10 {
        pair.hear(1, Word::Offer { attempt, terms: terms(1), plain: false });
    }
    let mut opened = 0;
    while let Some((_, want)) = pair.station(1).poll_want() {
        opened += u32::from(want != Want::End);
    }
    assert_eq!((opened, pair.station(1).audit().rejected(Reject::Rate)), (1, 8));
}

/// A peer begins another life all the time, and offers at once, as if it were another one.
// [RDMA-48]
#[test]
fn a_peer_that_begins_again_is_paused_as_one_that_stays() {
    let mut pair = Pair::new(Trust::Sealed);
    let (mut begun, mut lives, until) = (0, 0, pair.net.now + Duration::from_secs(120));
    while pair.net.now < until {
        pair.hear(1, Word::Again);
        pair.hear(1, Word::Offer { attempt: lives, terms: terms(1), plain: false });
        while let Some((_, want)) = pair.station(1).poll_want() {
            begun += u64::from(matches!(want, Want::Accept { .. }));
        }
        lives += 1;
        pair.begin_again(lives);
    }
    // Two in the longest pause, and those before it is reached.
    assert!((8..=16).contains(&begun) && lives > 2 * begun, "{begun} in {lives} lives");
}

// [RDMA-48]
#[test]
fn attempts_of_many_nodes_are_not_remembered_for_ever() {
    let mut pairs = Pairs::default();
    let key = |peer: u64| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&peer.to_le_bytes());
        PublicKey(bytes)
    };
    for peer in 0..1000 {
        let now = Time::from_nanos(peer);
        let mut pairing = Pairing::new(now, Role::Offers, Trust::Sealed, Attempts::new(now));
        pairing.on_timeout(now, peer, None);
        let attempts = pairing.into_attempts(now);
        pairs.remember(key(peer), attempts);
        pairs.remember(key(peer), attempts);
    }
    let kept: BTreeSet<_> = pairs.attempts.into_keys().collect();
    let newest = (1000 - REMEMBERED_MAX as u64..1000).map(key).collect();
    assert_eq!(kept, newest);
}

// [RDMA-49]
#[test]
fn packets_that_are_not_sealed_have_to_be_of_their_form() {
    let mut pair = Pair::new(Trust::Plain);
    pair.carry();
    for end in [0, 1] {
        let peer = public(1 + pair.hosts[1 - end] as u8);
        assert_eq!(pair.station(end).carrier(&peer), Some(Carrier::RdmaPlain));
    }
    let [ours, theirs] = pair.lines;
    let now = pair.net.now;
    assert!(pair.station(0).submit(ours, greenroom::net::Order::Free, b"frame").is_ok());
    let right = pair.packet(0).expect("a packet");
    let cases = [
        (0, 0x48, Reject::Kind),
        (0, 0x41, Reject::Fixed),
        (1, WORDS, Reject::Lane),
        (2, 1, Reject::Fixed),
        (4, 1, Reject::Index),
        (14, 1, Reject::Number),
        (right.len() - 1, 1, Reject::Forged),
    ];
    for (place, byte, why) in cases {
        let before = pair.station(1).audit().rejected(why);
        let mut wrong = right.clone();
        wrong[place] = byte;
        pair.station(1).handle_paired(now, theirs, &mut wrong);
        assert_eq!(pair.station(1).audit().rejected(why), before + 1, "{why}");
    }
    for len in 0..32 {
        pair.station(1).handle_paired(now, theirs, &mut right.clone()[..len]);
    }
    let host = pair.hosts[1];
    assert_eq!(pair.net.receive(host, theirs), None);
    pair.station(1).handle_paired(now, theirs, &mut right.clone());
    assert_eq!(pair.net.receive(host, theirs), Some(Ok(b"frame".to_vec())));
}

/// Whatever was lost: the peer still uses the queue pair, and each packet of its tells that it has not heard.
// [RDMA-45] [LINK-73]
#[test]
fn who_has_closed_says_so_again_for_what_comes_by_the_queue_pair() {
    for trust in [Trust::Sealed, Trust::Plain] {
        let mut pair = Pair::new(trust);
        pair.carry();
        let (now, [own, peer]) = (pair.net.now, pair.lines);
        pair.station(0).close_line(own);
        let by_pair = std::iter::from_fn(|| pair.packet(0)).count();
        let mut lost = Outgoing::new();
        let by_udp =
            std::iter::from_fn(|| pair.station(0).poll_transmit(now, 1, &mut lost).then_some(()));
        assert_eq!((by_pair, by_udp.count()), (1, 1), "{trust:?}");
        assert!(pair.station(1).submit(peer, greenroom::net::Order::Free, b"frame").is_ok());
        let mut packet = pair.packet(1).expect("a packet");
        pair.station(0).handle_paired(now, own, &mut packet);
        pair.net.settle();
        let host = pair.hosts[1];
        assert_eq!(pair.net.receive(host, peer), Some(Err(LinkEnd::Closed)), "{trust:?}");
    }
}

// [LINK-3] [LINK-73]
#[test]
fn who_breaks_the_rules_by_a_queue_pair_is_told_by_udp_also_without_room() {
    for has_room in [true, false] {
        let mut pair = Pair::new(Trust::Plain);
        pair.carry();
        let (now, [own, peer]) = (pair.net.now, pair.lines);
        assert!(pair.station(0).submit(own, greenroom::net::Order::Free, b"frame").is_ok());
        let mut wrong = pair.packet(0).expect("a packet");
        wrong[HEADER_BYTES] = 0xff;
        pair.station(1).handle_paired(now, peer, &mut wrong);
        if !has_room {
            assert_eq!(pair.station(1).poll_paired(now, &mut |_| false), None);
        }
        let lost = std::iter::from_fn(|| pair.packet(1)).count();
        pair.net.settle();
        let ends = [own, peer].into_iter().zip(pair.hosts);
        let ends: Vec<_> = ends.map(|(line, host)| pair.net.receive(host, line)).collect();
        let expected = [LinkEnd::Refused, LinkEnd::Misbehaved].map(|end| Some(Err(end)));
        assert_eq!((lost, &ends[..]), (usize::from(has_room), &expected[..]));
    }
}

/// What is known of a queue pair stays when datagrams take another path.
#[test]
fn a_path_that_moved_is_not_that_of_a_queue_pair() {
    let mut pair = Pair::new(Trust::Sealed);
    let line = pair.lines[0];
    for forgets in [true, false] {
        let station = pair.station(0);
        let lane = |station: &mut Station| {
            let lane = &mut station.lines.get_mut(&line).expect("a line").lane;
            std::iter::from_fn(|| lane.poll_event()).count()
        };
        lane(station);
        station.on_moved(line);
        assert_eq!(lane(station) > 0, forgets);
        pair.carry();
    }
}

/// What a peer's socket for datagrams holds bounds what is under way by UDP, before and after, and not by a queue pair.
#[test]
fn a_queue_pair_is_not_bounded_by_the_peers_socket() {
    const SOCKET_BYTES: u64 = 8 << 10;
    let mut pair = Pair::with_sockets(Trust::Sealed, SOCKET_BYTES);
    let window = |pair: &mut Pair, end: usize| {
        let line = pair.lines[end];
        pair.station(end).lines.get(&line).expect("a line").lane.congestion_window()
    };
    for end in [0, 1] {
        assert_eq!(window(&mut pair, end), SOCKET_BYTES);
    }
    pair.carry();
    for end in [0, 1] {
        assert!(window(&mut pair, end) > 4 * SOCKET_BYTES);
        let (now, line) = (pair.net.now, pair.lines[end]);
        pair.station(end).pair_ended(now, line, Why::DeviceGone);
        assert_eq!(window(&mut pair, end), SOCKET_BYTES);
    }
}
