//! Sessions with a secret: what others do not read, and what is not taken from them.

use super::*;
use blake2::Blake2sMac;
use blake2::digest::Mac;
use blake2::digest::consts::U32;
use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{AeadInOut, KeyInit};

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
    // What a packet is of is not what it says: the other direction has another key. One that is refused may be
    // overwritten, by the ciphers that verify as they open.
    let mut turned = wire.0[0].clone();
    turned[0] = 3;
    server.on_packet(at(2), 7, &mut turned, |_, event| panic!("{event:?}"));
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

/// What the server sends that replies to the request in that packet with its own text.
fn echoes(server: &mut Rpc<u8>, request: &mut [u8]) -> Vec<u8> {
    server.on_packet(at(1), 7, request, |rpc, event| {
        let Event::Request { request, payload } = event else { panic!("{event:?}") };
        assert!(rpc.reply(request, |slot| put(slot, payload)));
    });
    let mut wire = Sink(Vec::new(), 1);
    server.on_turn(at(1), &mut wire, |_| {});
    wire.0.remove(0)
}

// [RDMA-36]
#[test]
fn equal_texts_in_two_requests_and_their_replies_are_sealed_apart() {
    let sealed = || Protection::Sealed(secret(1, 0, 1));
    let (mut client, mut server, session, _) = ends_with([sealed(), sealed()]);
    let text = b"the same text";
    let mut requests = [(); 2].map(|()| leaves(&mut client, session, text));
    let sent = requests.clone();
    let replies = requests.each_mut().map(|request| echoes(&mut server, request));
    // Without the tags, which the headers make different anyway.
    let texts = sent.iter().chain(&replies);
    let texts: BTreeSet<_> = texts.map(|it| &it[HEADER_BYTES..][..text.len()]).collect();
    assert_eq!(texts.len(), 4, "{texts:?}");
}

/// A packet as the specification has it, made without anything of this crate.
fn by_the_book(
    secret: &Key,
    label: &str,
    numbers: [u32; 2],
    header: &[u8],
    text: &[u8],
) -> Vec<u8> {
    let mut key = <Blake2sMac<U32> as KeyInit>::new(secret.bytes().into());
    key.update(label.as_bytes());
    numbers.iter().for_each(|number| key.update(&number.to_le_bytes()));
    let key = key.finalize().into_bytes();
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&header[8..]);
    let mut sealed = text.to_vec();
    let cipher = ChaCha20Poly1305::new(&key);
    let tag = cipher.encrypt_inout_detached(&nonce.into(), header, sealed.as_mut_slice().into());
    [header, &sealed, &tag.expect("it is short")].concat()
}

// [RDMA-36]
#[test]
fn sealed_packets_are_as_the_specification_says() {
    let sealed = || Protection::Sealed(Key::new([9; 32]));
    let new = || Rpc::new(CONFIG).expect("good limits");
    let (mut client, mut server) = (new(), new());
    let session = [(); 3].map(|()| client.open(7, sealed()))[2];
    let accepted = [(); 6].map(|()| server.accept(7, session, sealed()))[5];
    client.connect(session, accepted);
    let mut request = leaves(&mut client, session, b"question");
    // The first number of the first of eight slots is 8; the client calls the session 2, the server 5.
    let header = [3, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
    let book = |label, header, text| by_the_book(&Key::new([9; 32]), label, [2, 5], header, text);
    assert_eq!(request, book("greenroom rpc requests", &header, b"question"));
    let header = [4, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
    let reply = echoes(&mut server, &mut request);
    assert_eq!(reply, book("greenroom rpc replies", &header, b"question"));
}
