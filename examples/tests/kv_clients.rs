//! What becomes of clients of `kv` that send, read and listen at times of their own choosing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod kv_support;

use std::time::{Duration, Instant};

use greenroom_examples::kv::Limits;
use kv_support::{Running, encode, show};

#[test]
fn commands_that_come_in_halves_for_long_are_each_given_their_own_time() {
    let limit = Duration::from_secs(1);
    let limits = Limits { request_timeout: limit, ..Limits::default() };
    let server = Running::start(2, limits);
    let mut client = server.connect();
    let command = encode(&[b"INCR", b"n"]);
    let (first, rest) = command.split_at(command.len() / 2);
    client.send(first);
    let begun = Instant::now();
    let mut count = 0;
    // Between two replies there is always half a command at the server.
    while begun.elapsed() < 2 * limit {
        client.send(&[rest, first].concat());
        count += 1;
        assert_eq!(show(&client.reply()), count.to_string());
    }
    server.stop();
}
