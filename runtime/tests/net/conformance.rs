//! The transport in one process keeps the contract of transports.

use crate::stage::identity;
use greenroom::net::{Loopback, transport_conforms};

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
