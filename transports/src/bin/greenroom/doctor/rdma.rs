//! The RDMA devices.

use super::Finding;
use greenroom_transports::config::NodeConfig;

#[cfg(all(feature = "rdma", target_os = "linux", target_pointer_width = "64"))]
pub(crate) fn look(node: Option<&NodeConfig>) -> Vec<Finding> {
    use super::State;
    use greenroom_transports::rdma::doctor;

    let wanted = node.and_then(|node| node.rdma.clone()).unwrap_or_default();
    let found = doctor::look(&wanted).into_iter().map(|it| Finding {
        state: match it.state {
            doctor::State::Good => State::Good,
            doctor::State::Slow => State::Slow,
            doctor::State::Bad => State::Bad,
        },
        what: it.what,
        seen: it.seen,
        mend: it.mend,
    });
    found.collect()
}

#[cfg(not(all(feature = "rdma", target_os = "linux", target_pointer_width = "64")))]
pub(crate) fn look(_: Option<&NodeConfig>) -> Vec<Finding> {
    let mend =
        "build it on 64-bit Linux with the features `cli` and `rdma` of greenroom-transports";
    vec![Finding::bad("RDMA", "this program was built without it", mend)]
}
