//! Where a peer is: nobody is put where it has not proved to be, nor anything sent there in its name.

use super::*;
use crate::secure::limit::Rate;
use crate::secure::wire::Suite;

/// Where somebody else is.
const VICTIM: u8 = 66;

fn open_config() -> Config {
    let rate = Rate::per_second(1_000_000, 1_000_000);
    Config { source_rate: rate, load_rate: rate, suite: Suite::Classic, ..Config::default() }
}

/// How many bytes go to the victim.
fn bytes_to_victim(node: &mut Endpoint) -> usize {
    let sent = std::iter::from_fn(|| node.poll_transmit());
    sent.filter(|sent| sent.to == address(VICTIM)).map(|sent| sent.packet.len()).sum()
}

fn settled(node: &Endpoint, at: SocketAddr) -> Option<AssociationId> {
    node.associations.settled_at(at).map(|it| it.id)
}

/// That an association with one that says to be where the victim is does not go there.
fn is_not_at_victim(node: &mut Endpoint, id: AssociationId, true_place: u8, came: usize) {
    assert_eq!(node.address(id), Some(address(true_place)));
    assert_eq!(settled(node, address(VICTIM)), None);
    let mut bytes = bytes_to_victim(node);
    let mut now = ms(1);
    for number in 0..60 {
        assert_eq!(sealed(node, now, id, number, &[0; 999]).unwrap().to, address(true_place));
        bytes += bytes_to_victim(node);
        now = now + Duration::from_millis(250);
        node.handle_timeout(now);
    }
    assert!(0 < bytes && bytes <= 3 * came, "{bytes} went to the victim, for {came} from there");
}

/// [UDP-53]
#[test]
fn who_asks_is_where_it_was_answered() {
    let mut pair = pair(&open_config());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut asked);
    let mut answered = pair.b.poll_transmit().unwrap().packet;
    pair.a.handle(pair.now, address(2), &mut answered);
    let mut first = pair.a.poll_transmit().unwrap().packet;
    let came = first.len();
    pair.b.handle(pair.now, address(VICTIM), &mut first);
    let b = up(&mut pair.b).unwrap();
    is_not_at_victim(&mut pair.b, b, 1, came);
}

/// [UDP-53]
#[test]
fn who_is_asked_is_where_it_was_asked() {
    let mut pair = pair(&open_config());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut asked);
    let mut answered = pair.b.poll_transmit().unwrap().packet;
    let came = answered.len();
    pair.a.handle(pair.now, address(VICTIM), &mut answered);
    let a = up(&mut pair.a).unwrap();
    is_not_at_victim(&mut pair.a, a, 2, came);
}

/// [UDP-53]: who asked from where the victim is, and is asked itself.
#[test]
fn who_is_asked_is_not_where_it_asked_from() {
    let mut pair = pair(&open_config());
    assert!(pair.a.public() < pair.b.public(), "the handshake of a goes on where two cross");
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(VICTIM), &mut asked);
    pair.b.poll_transmit().expect("the answer, which the victim gets");
    let of_b = pair.a.peers.place(&pair.b.public()).unwrap();
    pair.a.give_up(of_b);
    pair.b.connect(pair.now, &pair.a.public(), address(1)).unwrap();
    pair.settle();
    let b = up(&mut pair.b).unwrap();
    assert_eq!(pair.b.address(b), Some(address(1)));
    assert_eq!(settled(&pair.b, address(VICTIM)), None);
}

/// [UDP-53]: one that is at another address by then gets there.
#[test]
fn who_is_elsewhere_proves_it() {
    let mut pair = pair(&open_config());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut asked);
    let mut answered = pair.b.poll_transmit().unwrap().packet;
    pair.a.handle(pair.now, address(2), &mut answered);
    while let Some(mut sent) = pair.a.poll_transmit() {
        pair.b.handle(pair.now, address(7), &mut sent.packet);
        while let Some(mut sent) = pair.b.poll_transmit() {
            pair.a.handle(pair.now, address(2), &mut sent.packet);
        }
    }
    let b = up(&mut pair.b).unwrap();
    assert_eq!(events(&mut pair.b), [Event::Moved { association: b, address: address(7) }]);
    assert_eq!(settled(&pair.b, address(7)), Some(b));
}

/// [UDP-28]: who writes the address of another peer on the first packet does not take its place.
#[test]
fn the_place_of_a_peer_is_not_taken() {
    let mut pair = pair(&Config::default());
    let (_, b) = pair.connect();
    let mut thief = node(3, 0, Config::default());
    thief.connect(pair.now, &pair.b.public(), address(3)).unwrap();
    let mut asked = thief.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(3), &mut asked);
    let mut answered = pair.b.poll_transmit().unwrap().packet;
    thief.handle(pair.now, address(2), &mut answered);
    let mut first = thief.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut first);
    let thiefs = up(&mut pair.b).unwrap();
    assert_eq!(pair.b.address(thiefs), Some(address(3)));
    assert_eq!(settled(&pair.b, address(1)), Some(b));
    pair.b.close(pair.now, thiefs);
    assert_eq!(settled(&pair.b, address(1)), Some(b));
}

/// Where the node that meets `b` is said to be, when it was asked from `asked` and said so from `finished`.
fn learned(asked: &[u8], finished: u8) -> Vec<Event> {
    let mut pair = pair(&open_config());
    pair.a = node(4, 0, open_config());
    pair.a.meet(pair.now, address(2)).unwrap();
    let init = pair.a.poll_transmit().unwrap().packet;
    for from in asked {
        pair.b.handle(pair.now, address(*from), &mut init.clone());
    }
    let mut answer = pair.b.poll_transmit().unwrap().packet;
    while pair.b.poll_transmit().is_some() {}
    pair.a.handle(pair.now, address(2), &mut answer);
    let mut finish = pair.a.poll_transmit().unwrap().packet;
    let received = pair.b.handle(pair.now, address(finished), &mut finish);
    assert_eq!(received, Received::Done);
    let place = pair.b.peers.place(&pair.a.public()).unwrap();
    assert!(pair.b.peers.at(place).allowed, "wherever it is");
    events(&mut pair.b)
}

/// [UDP-77]
#[test]
fn who_is_met_is_where_alone_it_was_answered() {
    let peer = identity(4).public();
    let at = Event::Learned { peer, address: address(1) };
    assert_eq!(learned(&[1], 1), [at]);
    assert_eq!(learned(&[1, 1], 1), [at]);
    for (asked, finished) in [(&[1][..], VICTIM), (&[1, VICTIM], VICTIM), (&[VICTIM, 1], VICTIM)] {
        assert_eq!(learned(asked, finished), [], "from {asked:?}, then from {finished}");
    }
}

/// [UDP-77]
#[test]
fn who_answers_a_first_contact_is_asked_where_it_was_found() {
    let mut pair = pair(&open_config());
    pair.a.meet(pair.now, address(2)).unwrap();
    let mut init = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut init);
    let mut answer = pair.b.poll_transmit().unwrap().packet;
    let came = answer.len();
    pair.a.handle(pair.now, address(VICTIM), &mut answer);
    let mut bytes = bytes_to_victim(&mut pair.a);
    for _ in 0..60 {
        pair.now = pair.now + Duration::from_millis(250);
        pair.a.handle_timeout(pair.now);
        bytes += bytes_to_victim(&mut pair.a);
    }
    assert!(bytes <= came, "{bytes} went to the victim, for {came} from there");
}
