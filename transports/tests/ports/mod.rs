//! Ports for programs that must be told of each other's before they are started.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// The ports below those that systems give out to who asks for any (RFC 6335 begins them at 49152, Linux at 32768): a
/// port from among those, asked for and let go, may be somebody else's when the program that is told of it begins.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;
/// How far apart programs begin to look that were started one after the other.
const APART: u32 = 97;

/// Returns a port of this machine that nobody has now, never the same twice.
pub(crate) fn free() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id() % COUNT * APART;
    for _ in 0..COUNT {
        let place = (begin + GIVEN.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + place).expect("the last is below 2^16");
        let is_free = UdpSocket::bind(("127.0.0.1", port)).is_ok()
            && TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free {
            return port;
        }
    }
    panic!("every port from {FIRST} on, {COUNT} of them, is somebody's")
}
