//! The RDMA devices.

use super::Finding;

#[cfg(all(feature = "rdma", target_os = "linux", target_pointer_width = "64"))]
pub(crate) fn look() -> Vec<Finding> {
    use super::State;
    use greenroom_transports::rdma::doctor;

    let found = doctor::look().into_iter().map(|it| Finding {
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
pub(crate) fn look() -> Vec<Finding> {
    let mend =
        "build it on 64-bit Linux with the features `cli` and `rdma` of greenroom-transports";
    vec![Finding::bad("RDMA", "this program was built without it", mend)]
}
