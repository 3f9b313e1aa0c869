//! What becomes of clients of `kv` that send, read and listen at times of their own choosing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use crate::kv_support::{Client, PATIENCE, Running, encode, read, show};
use greenroom_examples::kv::{Limits, Settings};

#[test]
fn commands_that_come_in_halves_for_long_are_each_given_their_own_time() {
    let limit = Duration::from_secs(5);
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

#[test]
fn who_leaves_before_it_has_ceased_to_listen_is_forgotten() {
    let server = Running::start(2, Limits::default());
    let mut other = server.connect();
    other.text(&["SET", "large", &"x".repeat(4 << 20)]);
    for _ in 0..5 {
        let mut ear = server.connect();
        ear.call(&["HELLO", "3"]);
        ear.text(&["SUBSCRIBE", "news"]);
        ear.text(&["PSUBSCRIBE", "n*"]);
        // Far more replies than it reads, and behind them what would end it.
        ear.send(&encode(&[b"GET", b"large"]).repeat(20));
        ear.send(&[encode(&[b"UNSUBSCRIBE"]), encode(&[b"PUNSUBSCRIBE"])].concat());
        assert_eq!(other.text(&["PUBSUB", "NUMSUB", "news"]), "[news 1]");
        drop(ear);
        let deadline = Instant::now() + Duration::from_secs(20);
        while other.text(&["PUBSUB", "NUMSUB", "news"]) != "[news 0]"
            || other.text(&["PUBSUB", "NUMPAT"]) != "0"
        {
            assert!(Instant::now() < deadline, "it is still listed");
        }
    }
    server.stop();
}

#[test]
fn who_is_to_get_no_replies_gets_messages_and_what_confirms_them() {
    let server = Running::start(2, Limits::default());
    let mut mouth = server.connect();
    let (publish, count) = (encode(&[b"PUBLISH", b"news", b"x"]), 200);
    for mute in ["OFF", "SKIP"] {
        for _ in 0..20 {
            let mut ear = server.connect();
            ear.call(&["HELLO", "3"]);
            ear.text(&["SUBSCRIBE", "news"]);
            ear.text(&["SUBSCRIBE", "other"]);
            mouth.send(&publish.repeat(count));
            ear.send(&encode(&[b"CLIENT", b"REPLY", mute.as_bytes()]));
            ear.send(&encode(&[b"UNSUBSCRIBE", b"other"]));
            ear.send(&encode(&[b"CLIENT", b"REPLY", b"ON"]));
            let mut heard = Vec::new();
            while heard.iter().filter(|text| *text == "[message news x]").count() < count
                || !heard.iter().any(|text| text == "OK")
            {
                heard.push(show(&ear.reply()));
            }
            heard.retain(|text| text != "[message news x]");
            assert_eq!(heard, ["[unsubscribe other 1]", "OK"], "{mute}");
            (0..count).for_each(|_| assert_eq!(show(&mouth.reply()), "1"));
            drop(ear);
            // The next one is to be the only one.
            server.until("pubsub_channels", 0);
        }
    }
    server.stop();
}

#[test]
fn messages_come_before_the_transaction_that_ends_listening() {
    let server = Running::start(2, Limits::default());
    let mut mouth = server.connect();
    let (publish, count) = (encode(&[b"PUBLISH", b"news", b"x"]), 200);
    for _ in 0..20 {
        let mut ear = server.connect();
        ear.call(&["HELLO", "3"]);
        ear.text(&["SUBSCRIBE", "news"]);
        mouth.send(&publish.repeat(count));
        let words: [&[&[u8]]; 5] =
            [&[b"MULTI"], &[b"INCR", b"n"], &[b"UNSUBSCRIBE"], &[b"PING"], &[b"EXEC"]];
        ear.send(&words.map(encode).concat());
        let mut heard = Vec::new();
        // That of `UNSUBSCRIBE` is a message of its own inside of the reply, as from Redis.
        while heard.last().is_none_or(|text: &String| !text.contains("PONG")) {
            heard.push(show(&ear.reply()));
        }
        let reached: usize = (0..count).filter(|_| show(&mouth.reply()) == "1").count();
        assert_eq!(heard.iter().filter(|text| *text == "[message news x]").count(), reached);
        ear.send(b"ECHO end\r\n");
        assert_eq!(show(&ear.reply()), "end");
        heard.retain(|text| text != "[message news x]");
        let exec = heard.last().unwrap();
        assert!(exec.ends_with("[unsubscribe news 0] PONG]"), "{heard:?}");
        assert_eq!(heard[..heard.len() - 1], ["OK", "QUEUED", "QUEUED", "QUEUED"]);
    }
    server.stop();
}

#[test]
fn counts_that_are_started_anew_are_so_on_every_shard() {
    let server = Running::start(3, Limits::default());
    let mut client = server.connect();
    for key in ["a", "b", "c", "d", "e", "f"] {
        client.text(&["SET", key, "1"]);
        client.text(&["GET", key]);
        client.text(&["GET", &format!("no {key}")]);
        client.text(&["PEXPIRE", key, "1"]);
    }
    assert_eq!((server.info("keyspace_hits"), server.info("keyspace_misses")), (6, 6));
    server.until("expired_keys", 6);
    assert_eq!(client.text(&["CONFIG", "RESETSTAT"]), "OK");
    for name in ["keyspace_hits", "keyspace_misses", "expired_keys"] {
        assert_eq!(server.info(name), 0, "{name}");
    }
    client.text(&["GET", "a"]);
    assert_eq!(server.info("keyspace_misses"), 1);
    // What came before it in one read is not counted, and what came behind is.
    let lines: [&[&[u8]]; 4] =
        [&[b"GET", b"a"], &[b"CONFIG", b"RESETSTAT"], &[b"GET", b"a"], &[b"GET", b"b"]];
    client.send(&lines.map(encode).concat());
    assert_eq!(lines.map(|_| show(&client.reply())), ["nil", "OK", "nil", "nil"]);
    assert_eq!(server.info("keyspace_misses"), 2);
    server.stop();
}

/// How long a server that closes waits for clients to take in what they were answered.
const HANG_UP_AFTER: Duration = Duration::from_secs(2);

#[test]
fn closing_does_not_wait_for_who_never_stops_sending() {
    // Who has no processor for a tenth of a second is taken for one that has ended, and cut off then.
    assert!(
        (0..5).any(|_| closing_gives_time_to_who_never_stops_sending()),
        "it is cut off at once"
    );
}

/// Closes a server beneath a client that is busy; returns whether the client heard all, or had the time for that.
fn closing_gives_time_to_who_never_stops_sending() -> bool {
    let server = Running::start(2, Limits::default());
    let mut busy = server.connect();
    let stop = Arc::new(AtomicBool::new(false));
    // Far more is asked in a second than can be answered, so there is always something left to serve.
    busy.text(&["SET", "large", &"x".repeat(2_000)]);
    let chatting = chatter(&busy, b"GET large\r\n", &stop);
    assert!(read_until(&mut busy.stream, b"$2000\r\n"));
    let reading = spawn(move || {
        let mut replies = Vec::new();
        (busy.stream.read_to_end(&mut replies), replies)
    });
    let begun = Instant::now();
    server.stop();
    let took = begun.elapsed();
    assert!(took < PATIENCE / 2, "{took:?}");
    let has_time = match reading.join().unwrap() {
        (Ok(_), replies) => {
            assert!(replies.is_empty() || replies.ends_with(b"x\r\n"), "no reply is cut in half");
            true
        }
        // Who was too slow to read what was left is cut off after a while.
        (Err(error), _) => {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            took >= HANG_UP_AFTER
        }
    };
    stop.store(true, Ordering::SeqCst);
    chatting.join().unwrap();
    has_time
}

#[test]
fn closing_does_not_wait_for_who_never_reads() {
    let server = Running::start(2, Limits::default());
    let mut busy = server.connect();
    let stop = Arc::new(AtomicBool::new(false));
    busy.text(&["SET", "large", &"x".repeat(1 << 20)]);
    let chatting = chatter(&busy, b"GET large\r\n", &stop);
    assert!(read_until(&mut busy.stream, b"$1048576\r\n"));
    server.stop_within(Duration::from_secs(2));
    chatting.join().unwrap();
}

/// Sends a command over and over without a pause, until told to stop or cut off.
fn chatter(client: &Client, command: &[u8], stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (mut stream, stop) = (client.stream.try_clone().unwrap(), Arc::clone(stop));
    let commands = command.repeat(10_000);
    spawn(move || while !stop.load(Ordering::SeqCst) && stream.write_all(&commands).is_ok() {})
}

/// Reads until `wanted` or the end of the connection; returns whether it came.
fn read_until(stream: &mut TcpStream, wanted: &[u8]) -> bool {
    let (mut buffer, mut tail) = (vec![0; 1 << 16], Vec::new());
    loop {
        match read(stream, &mut buffer) {
            Ok(0) => return false,
            Ok(count) => tail.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return false,
            Err(error) => panic!("{error}"),
        }
        if tail.windows(wanted.len()).any(|bytes| bytes == wanted) {
            return true;
        }
        tail.drain(..tail.len().saturating_sub(wanted.len()));
    }
}

#[test]
fn who_never_stops_sending_gets_messages_and_can_be_killed() {
    let server = Running::start(2, Limits::default());
    let mut mouth = server.connect();
    let mut busy = server.connect();
    busy.call(&["HELLO", "3"]);
    busy.text(&["SUBSCRIBE", "news"]);
    let id = busy.text(&["CLIENT", "ID"]);
    let stop = Arc::new(AtomicBool::new(false));
    let chatting = chatter(&busy, b"PING\r\n", &stop);
    // It is in full swing.
    assert!(read_until(&mut busy.stream, &b"+PONG\r\n".repeat(1000)));
    assert_eq!(mouth.text(&["PUBLISH", "news", "hear"]), "1");
    assert!(read_until(&mut busy.stream, b"$4\r\nhear\r\n"));
    assert_eq!(mouth.text(&["CLIENT", "KILL", "ID", &id]), "1");
    assert!(!read_until(&mut busy.stream, b"no such bytes"));
    server.until("cut_killed", 1);
    stop.store(true, Ordering::SeqCst);
    chatting.join().unwrap();
    server.stop();
}

#[test]
fn who_is_told_nothing_and_never_stops_sending_keeps_nobody_from_the_only_worker() {
    let settings = Settings { shards: Some(1), workers: 1, ..Settings::default() };
    let server = Running::start_with(settings);
    let (mut busy, mut other) = (server.connect(), server.connect());
    busy.send(b"PING\r\nCLIENT REPLY OFF\r\n");
    busy.reply();
    let stop = Arc::new(AtomicBool::new(false));
    let chatting = chatter(&busy, b"PING\r\n", &stop);
    for number in 0..100 {
        assert_eq!(other.text(&["INCR", "a"]), (number + 1).to_string());
    }
    stop.store(true, Ordering::SeqCst);
    chatting.join().unwrap();
    server.stop();
}

#[test]
fn limits_that_no_clock_reaches_are_none() {
    let ever = Duration::from_secs(u64::MAX);
    let limits = Limits {
        idle_timeout: Some(ever),
        write_timeout: ever,
        request_timeout: ever,
        ..Limits::default()
    };
    let server = Running::start(2, limits);
    let mut client = server.connect();
    assert_eq!(client.text(&["PING"]), "PONG");
    client.send(b"PI");
    client.send(b"NG\r\n");
    assert_eq!(show(&client.reply()), "PONG");
    server.stop();
}

#[test]
fn counts_of_listeners_are_one_flat_list() {
    let server = Running::start(2, Limits::default());
    let mut client = server.connect();
    for proto in ["2", "3"] {
        client.call(&["HELLO", proto]);
        assert_eq!(client.text(&["PUBSUB", "NUMSUB", "a", "b"]), "[a 0 b 0]");
    }
    server.stop();
}

#[test]
fn who_writes_everything_before_reading_is_served() {
    let limits = Limits { write_timeout: Duration::from_secs(60), ..Limits::default() };
    let server = Running::start(2, limits);
    let mut client = server.connect();
    let value = [b'x'; 1000];
    // More than the buffers of all sockets between the two take.
    let count = 40_000;
    let command = encode(&[b"ECHO", &value]);
    client.send(&command.repeat(count));
    client.send(b"INCR n\r\n");
    client.stream.shutdown(Shutdown::Write).unwrap();
    let (mut replies, line) = (Vec::new(), b"$1000\r\n".len() + value.len() + 2);
    client.stream.read_to_end(&mut replies).unwrap();
    assert_eq!(replies.len(), count * line + b":1\r\n".len());
    assert!(replies.ends_with(b"x\r\n:1\r\n"));
    server.stop();
}

#[test]
fn who_writes_without_end_and_never_reads_is_cut_off() {
    let limits = Limits { write_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Running::start(2, limits);
    let mut client = server.connect();
    let commands = encode(&[b"ECHO", &[b'x'; 10_000]]).repeat(100);
    let mut sent = 0;
    while client.try_send(&commands).is_ok() {
        sent += commands.len();
        // As many again for what is in the sockets' buffers and was echoed.
        assert!(sent < 3 * Limits::AHEAD_BYTES_MAX, "{sent}");
    }
    server.until("cut_slow_reader", 1);
    server.stop();
}
