//! The transport in one process keeps the contract of transports.

use crate::stage::identity;
use crate::support::run;
use greenroom::net::{FrameBuf, LinkEnd, Loopback, Order, Transport, transport_conforms};
use std::future::poll_fn;

#[test]
#[cfg_attr(sanitized, ignore = "slow: links are filled to the brim")]
fn loopback_conforms() {
    for frames_max in [1, 256] {
        transport_conforms(|| {
            let network = Loopback::new().frames_max(frames_max);
            ["here", "there"].map(|name| {
                let node = network.node(name, identity(name));
                let address = node.address();
                (node, address)
            })
        });
    }
}

/// Who has not got everything must not hear that it has.
#[test]
fn what_is_cut_behind_a_close_is_lost() {
    let ends = async |network: &Loopback, is_cut: bool| {
        let [here, there] = ["here", "there"].map(|name| network.node(name, identity(name)));
        here.connect(&there.address()).await.unwrap();
        let near = poll_fn(|cx| here.poll_link(cx)).await.unwrap();
        let far = poll_fn(|cx| there.poll_link(cx)).await.unwrap();
        near.submit(Order::Free, b"last").unwrap();
        near.close();
        if is_cut {
            network.cut("here", "there");
        }
        let mut frame = FrameBuf::default();
        let mut received = Vec::new();
        loop {
            match poll_fn(|cx| far.poll_receive(cx, &mut frame)).await {
                Ok(()) => received.push(frame.to_vec()),
                Err(end) => return (received, end),
            }
        }
    };
    run(async {
        let network = Loopback::new();
        assert_eq!(ends(&network, false).await, (vec![b"last".to_vec()], LinkEnd::Closed));
        assert_eq!(ends(&network, true).await, (Vec::new(), LinkEnd::Lost));
    });
}
