//! Sessions with a secret: what others do not read, and what is not taken from them.

use super::*;

/// What a client sends that asks `text`, once and again.
fn asked(client: &mut Rpc<u8>, session: SessionId, text: &[u8]) -> [Vec<u8>; 2] {
    let mut wire = Sink(Vec::new(), 100);
    client.call(at(0), session, 1, |slot| put(slot, text)).expect("room");
    client.on_turn(at(0), &mut wire, |_| {});
    client.on_turn(at(600), &mut wire, |_| {});
    wire.0.try_into().expect("it is repeated")
}

// [RDMA-36]
#[test]
fn sealed_packets_are_opened_by_the_other_end_alone_and_repeated_as_they_are() {
    let sealed = || Protection::Sealed(secret(1, 0, 1));
    let (mut client, mut server, session, _) = ends_with([sealed(), sealed()]);
    let text = b"nobody else reads this";
    let [request, again] = asked(&mut client, session, text);
    assert_eq!(request, again, "no nonce seals two texts");
    assert!(!request.windows(text.len()).any(|part| part == text));
    for bit in 0..request.len() * 8 {
        let mut wrong = request.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        server.on_packet(at(1), 7, &mut wrong, |_, event| panic!("bit {bit}: {event:?}"));
    }
    for len in 0..request.len() {
        server.on_packet(at(1), 7, &mut request.clone()[..len], |_, event| panic!("{event:?}"));
    }
    let rejected = (request.len() * 9) as u64;
    assert_eq!(server.counts(), Counts { rejected, ..Counts::default() });
    server.on_packet(at(1), 7, &mut request.clone(), |rpc, event| {
        let Event::Request { request, payload } = event else { panic!("{event:?}") };
        assert_eq!(payload, text);
        assert!(rpc.reply(request, |slot| put(slot, b"nor this")));
    });
    let mut wire = Sink(Vec::new(), 1);
    server.on_turn(at(1), &mut wire, |_| {});
    // What a packet is of is not what it says: the other direction has another key.
    wire.0[0][0] = 3;
    server.on_packet(at(2), 7, &mut wire.0[0], |_, event| panic!("{event:?}"));
    wire.0[0][0] = 4;
    let mut replied = false;
    server.on_packet(at(2), 7, &mut again.clone(), |_, event| panic!("a duplicate: {event:?}"));
    server.on_turn(at(2), &mut Sink(Vec::new(), 1), |_| {});
    let mut reply = wire.0.remove(0);
    client.on_packet(at(2), 7, &mut reply, |_, event| {
        assert_eq!(event, Event::Reply { user: 1, payload: b"nor this" });
        replied = true;
    });
    assert!(replied);
}

// [RDMA-36]
#[test]
fn ends_that_are_not_protected_alike_hand_nothing_in() {
    let protections = || {
        [
            Protection::Trusted,
            Protection::Sealed(secret(1, 0, 1)),
            Protection::Sealed(secret(2, 0, 1)),
        ]
    };
    for own in 0..3 {
        for other in 0..3 {
            let pair = [own, other].map(|at| protections().into_iter().nth(at).expect("it is one"));
            let (mut client, mut server, session, _) = ends_with(pair);
            let [mut request, _] = asked(&mut client, session, b"one");
            let mut comes = false;
            server.on_packet(at(1), 7, &mut request, |_, _| comes = true);
            assert_eq!(comes, own == other);
            assert_eq!(server.counts().rejected, u64::from(own != other));
        }
    }
}

/// What a client sends that asks `text`, and nobody answers.
fn leaves(client: &mut Rpc<u8>, session: SessionId, text: &[u8]) -> Vec<u8> {
    let mut wire = Sink(Vec::new(), 1);
    client.call(at(0), session, 1, |slot| put(slot, text)).expect("room");
    client.on_turn(at(0), &mut wire, |_| {});
    wire.0.remove(0)
}

// [RDMA-36]
#[test]
fn sessions_with_one_secret_by_mistake_have_other_keys() {
    let sealed = || Protection::Sealed(secret(1, 0, 1));
    // What the client and the server call each.
    let sessions = [(0, 0), (0, 1), (1, 0)];
    let mut packets = sessions.map(|(own, other)| {
        let mut client = Rpc::new(CONFIG).expect("good limits");
        let mut opened = (0..=own).map(|_| client.open(7, sealed())).collect::<Vec<_>>();
        let session = opened.pop().expect("it is opened");
        client.connect(session, SessionId(other));
        leaves(&mut client, session, b"the same text")
    });
    let [first, second, third] = packets.each_ref().map(|packet| &packet[HEADER_BYTES..]);
    assert!(first != second && second != third && first != third, "{packets:?}");
    let mut server = Rpc::new(CONFIG).expect("good limits");
    server.accept(7, SessionId(0), sealed());
    let mut taken = packets.each_mut().map(|packet| {
        let mut is_taken = false;
        server.on_packet(at(1), 7, packet, |_, _| is_taken = true);
        is_taken
    });
    taken.sort_unstable();
    assert_eq!(taken, [false, false, true]);
}
