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

#[test]
fn no_message_comes_after_the_end_of_listening_is_confirmed() {
    let server = Running::start(2, Limits::default());
    let mut mouth = server.connect();
    let (publish, count) = (encode(&[b"PUBLISH", b"news", b"x"]), 500);
    for (proto, end) in [("2", "UNSUBSCRIBE"), ("2", "RESET"), ("3", "UNSUBSCRIBE"), ("3", "RESET")]
    {
        for _ in 0..20 {
            let mut ear = server.connect();
            ear.call(&["HELLO", proto]);
            ear.text(&["SUBSCRIBE", "news"]);
            mouth.send(&publish.repeat(count));
            ear.send(&encode(&[end.as_bytes()]));
            let confirmed = |text: &str| text == "RESET" || text == "[unsubscribe news 0]";
            let messages = std::iter::from_fn(|| Some(show(&ear.reply())))
                .take_while(|text| !confirmed(text))
                .inspect(|text| assert_eq!(text, "[message news x]"))
                .count();
            let heard: usize = (0..count).filter(|_| show(&mouth.reply()) == "1").count();
            assert_eq!(messages, heard, "RESP{proto}, {end}");
            assert_eq!(ear.text(&["GET", "nope"]), "nil");
        }
    }
    server.stop();
}
