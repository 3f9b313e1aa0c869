//! Keys of associations that are renewed while others ask, or while nothing gets through.

use super::*;
use crate::secure::limit::Rate;

/// A first message of another node, later than those of its earlier lives.
fn stranger(life: u64, to: PublicKey) -> Vec<u8> {
    let mut stranger = node(3, life, Config::default());
    stranger.connect(ms(1), &to, address(2)).unwrap();
    stranger.poll_transmit().unwrap().packet
}

/// [UDP-28]: behind the address of a peer, and with its port written on them.
#[test]
fn what_others_ask_for_uses_up_no_renewals() {
    for port in [7001, 7000] {
        let mut pair = pair(&Config { source_rate: Rate::per_second(1, 3), ..Config::default() });
        let (a, _) = pair.connect();
        let (from, to) = (SocketAddr::new(address(1).ip(), port), pair.b.public());
        for life in 0..6 {
            pair.b.handle(pair.now, from, &mut stranger(life, to));
        }
        let refused = pair.b.audit.rejected(Reject::Cookie);
        assert!(refused > 0, "no more from there without a cookie");
        while pair.b.poll_transmit().is_some() {}
        events(&mut pair.a);
        pair.a.rekey(pair.now, a).unwrap();
        pair.settle();
        assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }], "{port}");
        let with_a_cookie = u64::from(from == address(1));
        assert_eq!(pair.b.audit.rejected(Reject::Cookie), refused + with_a_cookie);
    }
}
