//! Members of a cluster without a key that all share.

use super::{Ground, PORT, public};
use greenroom::net::Address;
use greenroom::net::membership::Membership;
use greenroom::sim::Explore;
use std::net::SocketAddr;
use std::time::Duration;

/// The first one knows the others, and tells each of the other one. [UDP-78]
#[test]
fn who_is_told_of_a_node_does_not_let_it_in() {
    Explore::new().seeds(2).run(|world| {
        crate::secure::packet::watch::forget();
        let ground = Ground::new(world);
        let nodes = [0, 1, 2].map(|who| world.node(format!("node {who}")).start());
        let address = |who: u8| -> Address {
            let at = SocketAddr::new(nodes[usize::from(who)].host(), PORT);
            format!("udp:{at}#{}", public(who)).parse().unwrap()
        };
        world.run(async {
            let (mut nets, mut members) = (Vec::new(), Vec::new());
            for (who, knows) in [(0, &[1, 2][..]), (1, &[0]), (2, &[0])] {
                let net = ground.join(&nodes[usize::from(who)], who, knows).unwrap();
                let member = Membership::at(address(who)).seed(address(0));
                members.push(member.start(&net).unwrap());
                nets.push(net);
            }
            ground.clock.sleep(Duration::from_secs(60)).await;
            assert!(members.iter().all(|members| members.members().len() == 3), "all are told of");
            let connected: Vec<_> = nets.iter().map(|net| net.peers().len()).collect();
            assert_eq!(connected, [2, 1, 1]);
        });
    });
}
