//! Clients and servers over datagrams that are lost, late and twice: what is called has one outcome, and
//! what is handled is handled once.

use super::*;
use crate::link::Random;
use crate::rdma::connected::tests::each_seed;
use crate::rdma::datagrams::{self, Datagrams, PeerId};
use crate::rdma::sim::{Fabric, SimDevice, Weather};
use crate::rdma::verbs::Verbs;
use crate::secure::key::Key;
use std::collections::BTreeSet;

mod sealed;

const CONFIG: Config = Config {
    slots: 8,
    message_bytes_max: 200,
    repeat_after: Duration::from_micros(500),
    repeats_max: 6,
    rate_max: 1_000_000_000,
    rtt_low: Duration::from_micros(50),
    rtt_high: Duration::from_millis(1),
};

/// A node that asks and answers.
struct Node {
    rpc: Rpc<PeerId>,
    port: Datagrams<SimDevice>,
    sessions: Vec<SessionId>,
    calls: u64,
    open: BTreeSet<u64>,
    /// What was handled, and how often a reply is put off.
    handled: BTreeSet<Vec<u8>>,
    later: Vec<(RequestId, Vec<u8>)>,
    replies: u64,
    unanswered: u64,
    /// Packets, to come once more much later.
    recorded: Vec<(PeerId, Vec<u8>)>,
}

fn node(fabric: &Fabric, at: u32) -> Node {
    let device = fabric.host().open("sim0", 1, 0).expect("a device");
    let config = datagrams::Config { peers_max: 8, sends: 8, receives: 32, inline_bytes: 64 };
    let port = Datagrams::new(device, &config, at, at + 1).expect("room for it");
    Node {
        rpc: Rpc::new(CONFIG).expect("good limits"),
        port,
        sessions: Vec::new(),
        calls: 0,
        open: BTreeSet::new(),
        handled: BTreeSet::new(),
        later: Vec::new(),
        replies: 0,
        unanswered: 0,
        recorded: Vec::new(),
    }
}

/// Of the session between these two ends, if it is sealed.
fn secret(seed: u64, client: usize, server: usize) -> Key {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    (bytes[8], bytes[9]) = (client as u8, server as u8);
    Key::new(bytes)
}

/// Every node is a client of every other; a session of two is sealed.
fn nodes(fabric: &Fabric, count: u32, seed: u64) -> Vec<Node> {
    let mut nodes: Vec<_> = (0..count).map(|at| node(fabric, at)).collect();
    let endpoints: Vec<_> = nodes.iter().map(|node| node.port.endpoint()).collect();
    assert!(endpoints.iter().all(|it| it.qpn == endpoints[0].qpn), "all have the same number");
    let mut add = |node: &mut Node| -> Vec<_> {
        endpoints.iter().map(|to| node.port.add(to).expect("room")).collect()
    };
    let peers: Vec<_> = nodes.iter_mut().map(&mut add).collect();
    for client in 0..nodes.len() {
        for server in (0..nodes.len()).filter(|&it| it != client) {
            let (to, back) = (peers[client][server], peers[server][client]);
            let protection = || match (client + server) % 2 {
                0 => Protection::Trusted,
                _ => Protection::Sealed(secret(seed, client, server)),
            };
            let session = nodes[client].rpc.open(to, protection());
            let accepted = nodes[server].rpc.accept(back, session, protection());
            nodes[client].rpc.connect(session, accepted);
            nodes[client].sessions.push(session);
        }
    }
    nodes
}

/// What is replied to that question.
fn answer(question: &[u8]) -> Vec<u8> {
    question.iter().rev().map(|byte| byte ^ 0x55).collect()
}

fn question(at: usize, user: u64) -> Vec<u8> {
    let mut text = Vec::from(user.to_le_bytes());
    text.push(at as u8);
    text.extend((0..user % 100).map(|it| it as u8));
    text
}

fn put(slot: &mut [u8], bytes: &[u8]) -> usize {
    slot[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}

fn on_event(node: &mut Outcomes<'_>, rpc: &mut Rpc<PeerId>, event: Event<'_>) {
    match event {
        Event::Request { request, payload } => {
            assert!(node.handled.insert(payload.to_vec()), "handled twice: {payload:?}");
            if node.dice.below(4) == 0 {
                node.later.push((request, payload.to_vec()));
            } else {
                assert!(rpc.reply(request, |slot| put(slot, &answer(payload))));
                assert!(!rpc.reply(request, |_| panic!("it has its reply")));
            }
        }
        Event::Reply { user, payload } => {
            assert!(node.open.remove(&user), "a second outcome of call {user}");
            assert_eq!(*payload, answer(&question(node.at, user)), "a reply to another call");
            *node.replies += 1;
        }
        Event::Unanswered { user } => {
            assert!(node.open.remove(&user), "a second outcome of call {user}");
            *node.unanswered += 1;
        }
    }
}

/// The parts of a node that events change.
struct Outcomes<'a> {
    at: usize,
    dice: &'a mut Random,
    handled: &'a mut BTreeSet<Vec<u8>>,
    later: &'a mut Vec<(RequestId, Vec<u8>)>,
    open: &'a mut BTreeSet<u64>,
    replies: &'a mut u64,
    unanswered: &'a mut u64,
}

impl Node {
    fn turn(&mut self, at: usize, now: Time, dice: &mut Random, calls_max: u64) {
        let Self { rpc, port, sessions, recorded, .. } = self;
        for _ in 0..dice.below(6) {
            let session = sessions[dice.below(sessions.len() as u64) as usize];
            let text = question(at, self.calls);
            if self.calls < calls_max
                && rpc.call(now, session, self.calls, |slot| put(slot, &text)).is_ok()
            {
                self.open.insert(self.calls);
                self.calls += 1;
            }
        }
        let Self { handled, later, open, replies, unanswered, .. } = self;
        let mut node = Outcomes { at, dice, handled, later, open, replies, unanswered };
        port.poll(|from, packet| {
            let from = from.peer().expect("all know each other");
            if node.dice.below(10) == 0 {
                recorded.push((from, packet.to_vec()));
            }
            rpc.on_packet(now, from, packet, |rpc, event| on_event(&mut node, rpc, event));
        });
        if node.dice.below(20) == 0 && !recorded.is_empty() {
            let index = node.dice.below(recorded.len() as u64) as usize;
            let (from, mut packet) = recorded.swap_remove(index);
            rpc.on_packet(now, from, &mut packet, |rpc, event| on_event(&mut node, rpc, event));
        }
        if node.dice.below(3) == 0
            && let Some((request, text)) = node.later.pop()
        {
            // The client may have given up meanwhile.
            rpc.reply(request, |slot| put(slot, &answer(&text)));
        }
        rpc.on_turn(now, port, |event| {
            let Event::Unanswered { user } = event else { panic!("{event:?}") };
            assert!(node.open.remove(&user), "a second outcome of call {user}");
            *node.unanswered += 1;
        });
        port.flush();
    }
}

// [RDMA-23] [RDMA-31] [RDMA-32] [RDMA-33] [RDMA-34]
#[test]
fn every_call_has_one_outcome_and_every_request_is_handled_at_most_once() {
    let (mut repeated, mut duplicates, mut late, mut unanswered) = (0, 0, 0, 0);
    each_seed(|seed| {
        let mut dice = Random::new(seed ^ 0x4bc);
        let weather = Weather {
            jitter: Duration::from_micros([0, 20, 900][dice.below(3) as usize]),
            completion_jitter: Duration::from_micros(dice.below(30)),
            datagram_loss_permille: [0, 50, 300, 800][dice.below(4) as usize],
            ..Weather::fair()
        };
        let is_calm = weather.datagram_loss_permille == 0 && weather.jitter.is_zero();
        let fabric = Fabric::new(seed, weather);
        let mut nodes = nodes(&fabric, 2 + dice.below(2) as u32, seed);
        let mut steps = 0;
        while nodes.iter().any(|node| node.calls < 40 || !node.open.is_empty()) {
            steps += 1;
            assert!(steps < 100_000, "somebody waits for ever");
            let now = fabric.now() + Duration::from_nanos(dice.below(20_000));
            fabric.advance(now);
            for (at, node) in nodes.iter_mut().enumerate() {
                node.turn(at, now, &mut dice, 40);
            }
        }
        for node in &nodes {
            let counts = node.rpc.counts();
            assert_eq!(node.replies + node.unanswered, node.calls);
            assert_eq!((node.rpc.open_calls(), node.rpc.timeout()), (0, None));
            assert_eq!(counts.rejected, 0);
            repeated += counts.repeated;
            duplicates += counts.duplicates;
            late += counts.late;
            unanswered += node.unanswered;
            if is_calm {
                assert_eq!(node.unanswered, 0);
            }
        }
    });
    let all = [repeated, duplicates, late, unanswered];
    assert!(all.iter().all(|&count| count > 10), "each has to happen: {all:?}");
}

/// Collects packets instead of sending them, as many as it has room for.
struct Sink(Vec<Vec<u8>>, usize);

impl Carrier for Sink {
    type Peer = u8;

    fn send(&mut self, _: u8, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<usize, SendError> {
        if self.0.len() == self.1 {
            return Err(SendError::Full);
        }
        let mut packet = vec![0; 300];
        let len = fill(&mut packet);
        packet.truncate(len);
        self.0.push(packet);
        Ok(len)
    }
}

fn ends() -> (Rpc<u8>, Rpc<u8>, SessionId, SessionId) {
    ends_with([Protection::Trusted, Protection::Trusted])
}

/// The client and the server, protected so.
fn ends_with(protections: [Protection; 2]) -> (Rpc<u8>, Rpc<u8>, SessionId, SessionId) {
    let (mut client, mut server) =
        (Rpc::new(CONFIG).expect("good limits"), Rpc::new(CONFIG).expect("good limits"));
    let [own, other] = protections;
    let session = client.open(7, own);
    let accepted = server.accept(7, session, other);
    client.connect(session, accepted);
    (client, server, session, accepted)
}

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

// [RDMA-32]
#[test]
fn requests_are_handed_in_as_they_come() {
    let (mut client, mut server, session, _) = ends();
    let mut wire = Sink(Vec::new(), 100);
    for user in 0..8 {
        client.call(at(1), session, user, |slot| put(slot, &[user as u8])).expect("room");
    }
    assert_eq!(client.call(at(1), session, 9, |_| panic!("no room")), Err(CallError::Full));
    client.on_turn(at(1), &mut wire, |_| {});
    let mut seen = Vec::new();
    for packet in &mut wire.0 {
        server.on_packet(at(2), 7, packet, |_, event| {
            let Event::Request { payload, .. } = event else { panic!("{event:?}") };
            seen.extend_from_slice(payload);
        });
    }
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
}

// [RDMA-34]
#[test]
fn what_is_not_answered_is_repeated_ever_more_rarely_and_given_up() {
    let (mut client, _, session, _) = ends();
    let mut wire = Sink(Vec::new(), 100);
    client.call(at(0), session, 42, |slot| put(slot, b"hello?")).expect("room");
    let (mut times, mut lost) = (Vec::new(), Vec::new());
    for micros in (0..80_000).step_by(10) {
        client.on_turn(at(micros), &mut wire, |event| {
            assert_eq!(event, Event::Unanswered { user: 42 });
            lost.push(micros);
        });
        times.extend(std::mem::take(&mut wire.0).iter().map(|_| micros));
    }
    assert_eq!(times.len(), 7, "once and six times more");
    for (gap, expected) in times.windows(2).zip([500, 1000, 2000, 4000, 8000, 16_000]) {
        let gap = gap[1] - gap[0];
        assert!((expected..=expected + 60).contains(&gap), "{times:?}");
    }
    assert_eq!(lost.len(), 1);
    assert_eq!(client.counts().repeated, 6);
}

// [RDMA-30] [RDMA-31]
#[test]
fn what_is_not_from_the_sessions_peer_is_dropped() {
    let (mut client, mut server, session, accepted) = ends();
    let mut wire = Sink(Vec::new(), 100);
    client.call(at(0), session, 1, |slot| put(slot, b"x")).expect("room");
    client.on_turn(at(0), &mut wire, |_| {});
    let mut request = wire.0.pop().expect("it left");
    let mut bad = vec![Vec::new(), request[..15].to_vec(), request.clone(), request.clone()];
    bad[2][0] = 5;
    bad[3][4] = 1;
    for packet in &mut bad {
        server.on_packet(at(1), 7, packet, |_, event| panic!("{event:?}"));
        client.on_packet(at(1), 7, packet, |_, event| panic!("{event:?}"));
    }
    server.on_packet(at(1), 8, &mut request, |_, event| panic!("{event:?}"));
    assert_eq!(server.counts().rejected, 5);
    let mut asked = None;
    server.on_packet(at(1), 7, &mut request, |_, event| {
        let Event::Request { request, .. } = event else { panic!("{event:?}") };
        asked = Some(request);
    });
    server.retire(accepted);
    server.on_packet(at(1), 7, &mut request, |_, event| panic!("{event:?}"));
    assert!(!server.reply(asked.expect("it was asked"), |_| panic!("nobody wants it")));
    let mut closed = Vec::new();
    client.close(session, |event| closed.push(matches!(event, Event::Unanswered { user: 1 })));
    assert_eq!(closed, [true]);
    assert_eq!(client.call(at(2), session, 2, |_| 0), Err(CallError::Closed));
}

#[test]
fn a_carrier_without_room_loses_nothing() {
    let (mut client, mut server, session, _) = ends();
    let mut wire = Sink(Vec::new(), 1);
    for user in 0..5 {
        client.call(at(0), session, user, |slot| put(slot, &[user as u8])).expect("room");
    }
    let mut replies = Vec::new();
    for micros in 0..20 {
        client.on_turn(at(micros), &mut wire, |event| panic!("{event:?}"));
        for mut packet in wire.0.drain(..) {
            server.on_packet(at(micros), 7, &mut packet, |rpc, event| {
                let Event::Request { request, payload } = event else { panic!("{event:?}") };
                assert!(rpc.reply(request, |slot| put(slot, payload)));
            });
        }
        server.on_turn(at(micros), &mut wire, |event| panic!("{event:?}"));
        for mut packet in wire.0.drain(..) {
            client.on_packet(at(micros), 7, &mut packet, |_, event| {
                let Event::Reply { user, payload } = event else { panic!("{event:?}") };
                assert_eq!(*payload, [user as u8]);
                replies.push(user);
            });
        }
    }
    assert_eq!(replies, [0, 1, 2, 3, 4]);
    assert_eq!(client.counts(), Counts::default());
}

// [RDMA-31]
#[test]
fn a_session_that_is_not_connected_takes_no_reply() {
    for protection in [Protection::Trusted, Protection::Sealed(secret(1, 0, 1))] {
        let mut client = Rpc::new(CONFIG).expect("good limits");
        let session = client.open(7, protection);
        assert_eq!(client.call(at(0), session, 1, |_| panic!("not yet")), Err(CallError::Full));
        let mut reply = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        client.on_packet(at(0), 7, &mut reply, |_, event| panic!("{event:?}"));
        assert_eq!(client.counts().rejected, 1);
    }
}

#[test]
fn limits_that_cannot_be_are_refused() {
    let refused = |change: fn(&mut Config)| {
        let mut config = CONFIG;
        change(&mut config);
        Rpc::<u8>::new(config).err()
    };
    assert_eq!(refused(|it| it.slots = 12), Some(ConfigError::Slots));
    assert_eq!(refused(|it| it.slots = 0), Some(ConfigError::Slots));
    assert_eq!(refused(|it| it.rate_max = 0), Some(ConfigError::Range));
    assert_eq!(refused(|it| it.rtt_low = it.rtt_high), Some(ConfigError::Range));
    assert_eq!(refused(|_| {}), None);
}

/// Brings everything to the other end and back, which takes that many microseconds, and says how many replies came.
fn exchange(client: &mut Rpc<u8>, server: &mut Rpc<u8>, now: u64, micros: u64) -> usize {
    let (mut asked, mut replied, mut replies) = (Sink(Vec::new(), 100), Sink(Vec::new(), 100), 0);
    client.on_turn(at(now), &mut asked, |event| panic!("{event:?}"));
    for packet in &mut asked.0 {
        server.on_packet(at(now), 7, packet, |rpc, event| {
            let Event::Request { request, .. } = event else { panic!("{event:?}") };
            assert!(rpc.reply(request, |slot| put(slot, b"yes")));
        });
    }
    server.on_turn(at(now), &mut replied, |event| panic!("{event:?}"));
    for packet in &mut replied.0 {
        client.on_packet(at(now + micros), 7, packet, |_, event| {
            assert!(matches!(event, Event::Reply { .. }), "{event:?}");
            replies += 1;
        });
    }
    replies
}

// [RDMA-35]
#[test]
fn who_is_held_back_by_the_pace_is_told_until_when() {
    let (mut client, mut server, session, _) = ends();
    let ask = |client: &mut Rpc<u8>, now| client.call(now, session, 1, |slot| put(slot, &[0; 200]));
    let mut now = 1;
    // Long round trips, until the next request may not go with the one before it.
    while ask(&mut client, at(now)).is_ok() {
        assert_eq!(exchange(&mut client, &mut server, now, 4000), 1);
        now += 4000;
        ask(&mut client, at(now)).expect("it was not paced for so long");
        assert_eq!(exchange(&mut client, &mut server, now, 1), 1);
    }
    assert_eq!(client.open_calls(), 0, "no reply will come");
    let until = client.timeout().expect("the pace lets it go later");
    assert!(until > at(now), "{until:?}");
    assert_eq!(ask(&mut client, until), Ok(()));
    exchange(&mut client, &mut server, now + 1000, 1);
    // Who does not ask again has nothing to wait for.
    assert!(client.timeout().is_none_or(|at| at > until));
    client.on_turn(at(now + 1000), &mut Sink(Vec::new(), 1), |_| {});
    assert_eq!(client.timeout(), None);
}

/// One that was slow once is not looked at for ever.
// [RDMA-35]
#[test]
fn sessions_that_are_as_fast_as_ever_are_not_looked_at() {
    let (mut client, mut server, session, _) = ends();
    let ask = |client: &mut Rpc<u8>, now| client.call(now, session, 1, |slot| put(slot, b"?"));
    let mut now = 1;
    ask(&mut client, at(now)).expect("nothing is paced");
    assert_eq!(exchange(&mut client, &mut server, now, 4000), 1);
    assert_eq!(client.slowed, BTreeSet::from([session.0]));
    for round in 0.. {
        if client.slowed.is_empty() {
            break;
        }
        assert!(round < 1000, "it does not recover");
        now += 5000;
        ask(&mut client, at(now)).expect("it was not paced for so long");
        assert_eq!(exchange(&mut client, &mut server, now, 1), 1);
    }
    let changes = client.counts().rate_changes;
    now += 5000;
    ask(&mut client, at(now)).expect("nothing is paced");
    assert_eq!(exchange(&mut client, &mut server, now, 4000), 1);
    assert_eq!((client.counts().rate_changes, client.slowed.len()), (changes + 1, 1));
    client.close(session, |event| panic!("{event:?}"));
    assert!(client.slowed.is_empty());
}

// [RDMA-31]
#[test]
fn sessions_that_were_closed_leave_nothing_behind() {
    let [mut client, mut server] = [0, 1].map(|_| Rpc::new(CONFIG).expect("good limits"));
    let (mut numbers, mut last) = (BTreeSet::new(), None);
    for _ in 0..10_000 {
        let session = client.open(7, Protection::Trusted);
        let accepted = server.accept(7, session, Protection::Trusted);
        client.connect(session, accepted);
        assert!(numbers.insert((0, session)) && numbers.insert((1, accepted)), "a second time");
        client.call(at(1), session, 1, |slot| put(slot, b"x")).expect("room");
        let mut wire = Sink(Vec::new(), 100);
        client.on_turn(at(1), &mut wire, |_| {});
        let mut request = None;
        server.on_packet(at(1), 7, &mut wire.0[0].clone(), |_, event| {
            let Event::Request { request: asked, .. } = event else { panic!("{event:?}") };
            request = Some(asked);
        });
        if let Some((session, mut packet, request)) =
            last.replace((session, wire.0.remove(0), request))
        {
            assert_eq!(client.call(at(1), session, 1, |_| 0), Err(CallError::Closed));
            server.on_packet(at(1), 7, &mut packet, |_, event| panic!("{event:?}"));
            let request: RequestId = Option::expect(request, "it was asked");
            assert!(!server.reply(request, |_| panic!("its session is another one")));
        }
        client.close(session, |_| {});
        server.retire(accepted);
    }
    assert_eq!(client.open_calls(), 0);
    assert!(client.open.is_empty(), "nobody looks at them");
    let bytes = [size_of_val(&*client.clients), size_of_val(&*server.servers)];
    assert!(bytes.iter().all(|&bytes| bytes <= 10_000 * size_of::<usize>()), "{bytes:?}");
}
