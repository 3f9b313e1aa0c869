//! `kv` over real TCP, with a client of our own: nothing but Rust is needed.

use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use crate::kv_support::{Client, PATIENCE, Running, encode, read, show};
use greenroom_examples::kv::Limits;
use resp_rs::resp3::Frame;

const OOM: &str = "OOM command not allowed when used memory > 'maxmemory'.";

#[test]
fn commands_of_every_kind_answer() {
    let server = Running::start(3, Limits::default());
    let mut client = server.connect();
    for (command, reply) in [
        ("PING", "PONG"),
        ("SET greeting hello", "OK"),
        ("GET greeting", "hello"),
        ("INCR n", "1"),
        ("MSET a 1 b 2 c 3", "OK"),
        ("MGET a b c d", "[1 2 3 nil]"),
        ("RPUSH l x y z", "3"),
        ("LRANGE l 0 -1", "[x y z]"),
        ("HSET h f v g w", "2"),
        ("HGETALL h", "[f v g w]"),
        ("SADD s m", "1"),
        ("SISMEMBER s m", "1"),
        ("TYPE s", "set"),
        ("EXPIRE a 100", "1"),
        ("PERSIST a", "1"),
        ("TTL a", "-1"),
        ("DBSIZE", "8"),
        ("SELECT 3", "OK"),
        ("DBSIZE", "0"),
        ("GET l", "nil"),
        ("CLIENT SETNAME me", "OK"),
        ("CLIENT GETNAME", "me"),
        ("HELLO 3 SETNAME you", ""),
        ("CLIENT GETNAME", "you"),
        ("HGETALL nope", "{}"),
        ("RESET", "RESET"),
        ("HGETALL h", "[f v g w]"),
        ("GET l", "WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("FLUSHALL", "OK"),
        ("KEYS *", "[]"),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let got = client.text(&words);
        assert!(reply.is_empty() || got == reply, "{command}: {got}");
    }
    server.stop();
}

#[test]
fn pipelines_keep_their_order_over_shards() {
    let server = Running::start(4, Limits::default());
    let mut client = server.connect();
    let count = 5000;
    let mut script = Vec::new();
    for n in 0..count {
        let (key, value) = (format!("key{}", n % 97), n.to_string());
        script.extend(encode(&[b"SET", key.as_bytes(), value.as_bytes()]));
        script.extend(encode(&[b"GET", key.as_bytes()]));
    }
    let mut writer = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || writer.write_all(&script).unwrap());
    for n in 0..count {
        assert_eq!(show(&client.reply()), "OK");
        assert_eq!(show(&client.reply()), n.to_string());
    }
    sending.join().unwrap();
    server.stop();
}

#[test]
fn messages_reach_those_who_listen() {
    let server = Running::start(2, Limits::default());
    let (mut ear, mut pattern, mut mouth) = (server.connect(), server.connect(), server.connect());
    assert_eq!(ear.text(&["SUBSCRIBE", "news", "more"]), "[subscribe news 1]");
    assert_eq!(show(&ear.reply()), "[subscribe more 2]");
    pattern.text(&["HELLO", "3"]);
    assert_eq!(pattern.text(&["PSUBSCRIBE", "n?ws"]), "[psubscribe n?ws 1]");
    assert_eq!(mouth.text(&["PUBLISH", "news", "today"]), "2");
    assert_eq!(mouth.text(&["PUBLISH", "none", "today"]), "0");
    assert_eq!(show(&ear.reply()), "[message news today]");
    assert_eq!(show(&pattern.reply()), "[pmessage n?ws news today]");
    assert_eq!(mouth.text(&["PUBSUB", "NUMSUB", "news", "none"]), "[news 1 none 0]");
    assert_eq!(mouth.text(&["PUBSUB", "NUMPAT"]), "1");
    // RESP3 may go on asking while it listens.
    assert_eq!(pattern.text(&["SET", "a", "1"]), "OK");
    assert_eq!(ear.text(&["UNSUBSCRIBE", "news"]), "[unsubscribe news 1]");
    assert_eq!(mouth.text(&["PUBLISH", "news", "later"]), "1");
    drop(pattern);
    server.until("connected_clients", 3);
    assert_eq!(mouth.text(&["PUBLISH", "news", "later"]), "0");
    server.stop();
}

#[test]
fn transactions_are_not_interleaved() {
    let server = Running::start(2, Limits::default());
    let address = server.address;
    let clients: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                for _ in 0..200 {
                    client.text(&["MULTI"]);
                    client.text(&["INCR", "{x}a"]);
                    client.text(&["INCR", "{x}b"]);
                    let reply = client.text(&["EXEC"]);
                    let (a, b) = reply[1..reply.len() - 1].split_once(' ').unwrap();
                    assert_eq!(a, b);
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let mut one = server.connect();
    assert_eq!(one.text(&["GET", "{x}b"]), "800");
    let mut two = server.connect();
    assert_eq!(one.text(&["WATCH", "{x}a"]), "OK");
    assert_eq!(two.text(&["SET", "{x}a", "0"]), "OK");
    assert_eq!(one.text(&["MULTI"]), "OK");
    assert_eq!(one.text(&["GET", "{x}a"]), "QUEUED");
    assert_eq!(one.text(&["EXEC"]), "nil");
    server.stop();
}

#[test]
fn those_who_do_not_speak_the_protocol_are_cut_off() {
    let server = Running::start(2, Limits::default());
    let long = [b"*1\r\n$".as_slice(), &[b'1'; 70_000]].concat();
    for (bytes, error) in [
        (b"*1\r\n:1\r\n".as_slice(), "ERR Protocol error: expected '$', got ':'"),
        (b"*x\r\n", "ERR Protocol error: invalid multibulk length"),
        (b"*1\r\n$536870913\r\n", "ERR Protocol error: invalid bulk length"),
        (b"SET \"a\r\n", "ERR Protocol error: unbalanced quotes in request"),
        (&long, "ERR Protocol error: too big bulk count string"),
    ] {
        let mut client = server.connect();
        client.send(bytes);
        assert_eq!(show(&client.reply()), error);
        assert!(client.is_closed());
    }
    assert_eq!(server.info("cut_protocol_error"), 5);
    server.stop();
}

#[test]
fn what_came_before_an_error_is_answered() {
    let server = Running::start(2, Limits::default());
    let mut client = server.connect();
    client.send(b"SET a 1\r\nGET a\r\n*1\r\n:1\r\nGET a\r\n");
    assert_eq!(show(&client.reply()), "OK");
    assert_eq!(show(&client.reply()), "1");
    assert!(show(&client.reply()).starts_with("ERR Protocol error"));
    assert!(client.is_closed());
    server.stop();
}

#[test]
fn large_values_come_back_whole() {
    let server = Running::start(2, Limits::default());
    let mut client = server.connect();
    let value: Vec<u8> = (0..20 << 20).map(|n: u32| n.to_le_bytes()[0]).collect();
    client.send(&encode(&[b"SET", b"large", &value]));
    assert_eq!(show(&client.reply()), "OK");
    client.send(&encode(&[b"GET", b"large"]));
    let reply = client.reply();
    assert!(reply.as_bytes().is_some_and(|bytes| *bytes == value[..]));
    assert_eq!(client.text(&["STRLEN", "large"]), value.len().to_string());
    server.stop();
}

#[test]
fn a_client_that_never_reads_holds_nobody_up_and_is_cut_off() {
    let limits = Limits { write_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Running::start(2, limits);
    let mut other = server.connect();
    let value = vec![b'x'; 1 << 20];
    other.send(&encode(&[b"SET", b"big", &value]));
    assert_eq!(show(&other.reply()), "OK");
    let mut deaf = server.connect();
    // A thousand megabytes of answers, and no one to take them.
    deaf.send(&encode(&[b"GET", b"big"]).repeat(1000));
    let before = Instant::now();
    while server.info("cut_slow_reader") == 0 {
        assert_eq!(other.text(&["INCR", "n"]).parse::<u64>().map(|_| ()), Ok(()));
        assert!(before.elapsed() < PATIENCE);
    }
    assert!(deaf.is_closed());
    server.stop();
}

#[test]
fn a_listener_that_never_reads_is_cut_off() {
    let limits = Limits { listener_bytes_max: 1 << 20, ..Limits::default() };
    let server = Running::start(2, limits);
    let (mut deaf, mut mouth) = (server.connect(), server.connect());
    assert_eq!(deaf.text(&["SUBSCRIBE", "news"]), "[subscribe news 1]");
    let message = "x".repeat(100_000);
    let before = Instant::now();
    while mouth.text(&["PUBLISH", "news", &message]) == "1" {
        assert!(before.elapsed() < PATIENCE);
    }
    server.until("cut_slow_listener", 1);
    assert!(deaf.is_closed());
    server.stop();
}

#[test]
fn a_client_that_takes_for_ever_over_a_command_is_cut_off() {
    let limits = Limits { request_timeout: Duration::from_millis(200), ..Limits::default() };
    let server = Running::start(2, limits);
    let mut slow = server.connect();
    slow.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    // One byte at a time, for as long as the server bears it.
    let command = encode(&[b"SET", b"key", &[b'x'; 10_000]]);
    let mut bytes = command.iter();
    let mut buffer = [0; 16];
    loop {
        match read(&mut slow.stream, &mut buffer) {
            Ok(0) => break,
            Ok(count) => panic!("{:?}", &buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        if slow.stream.write_all(&[*bytes.next().expect("cut off before the end")]).is_err() {
            break;
        }
    }
    server.until("cut_slow_writer", 1);
    server.stop();
}

#[test]
fn a_command_in_single_bytes_is_understood() {
    let server = Running::start(2, Limits::default());
    let mut client = server.connect();
    for byte in encode(&[b"SET", b"key", b"value"]).iter().chain(b"GET key\r\n") {
        client.send(&[*byte]);
    }
    assert_eq!(show(&client.reply()), "OK");
    assert_eq!(show(&client.reply()), "value");
    server.stop();
}

#[test]
fn idle_clients_are_closed_when_asked_for() {
    let limits = Limits { idle_timeout: Some(Duration::from_secs(8)), ..Limits::default() };
    let server = Running::start(2, limits);
    let mut ear = server.connect();
    assert_eq!(ear.text(&["SUBSCRIBE", "news"]), "[subscribe news 1]");
    let mut idle = server.connect();
    assert_eq!(idle.text(&["PING"]), "PONG");
    assert!(idle.is_closed());
    server.until("cut_idle", 1);
    assert_eq!(server.connect().text(&["PUBLISH", "news", "still here"]), "1");
    server.stop();
}

#[test]
fn memory_has_a_limit() {
    let limits = Limits { memory_bytes_max: Some(1 << 20), ..Limits::default() };
    let server = Running::start(2, limits);
    let mut client = server.connect();
    let value = "x".repeat(10_000);
    let mut stored = 0;
    while client.text(&["SET", &format!("key{stored}"), &value]) == "OK" {
        stored += 1;
        assert!(stored < 200, "no end");
    }
    assert!(stored > 80, "{stored} values");
    // What is left is not enough for one more of those, but for some shorter ones.
    let push = |client: &mut Client| client.text(&["LPUSH", "l", "x"]);
    let refused = (0..1000).map(|_| push(&mut client)).find(|reply| reply.starts_with("OOM"));
    assert_eq!(refused.as_deref(), Some(OOM));
    assert_eq!(client.text(&["GET", "key0"]).len(), 10_000);
    for n in 0..stored {
        client.text(&["DEL", &format!("key{n}")]);
    }
    client.text(&["DEL", "l"]);
    assert_eq!(client.text(&["LPUSH", "l", "x"]), "1");
    server.stop();
}

/// Small hashes take more than is reckoned for them, and so does a list that grows by half: that is not missing to what
/// comes behind them in the same turn.
#[test]
fn a_pipeline_is_refused_nothing_while_memory_is_left() {
    let limits = Limits { memory_bytes_max: Some(1 << 30), ..Limits::default() };
    let server = Running::start(1, limits);
    let mut client = server.connect();
    let pushes = (0..1000).map(|_| vec![b"RPUSH".to_vec(), b"l".to_vec(), b"x".to_vec()]);
    let sets = (0..200).map(|n| {
        ["HSET", &format!("h{n}"), "f", "v"].map(|word| word.as_bytes().to_vec()).to_vec()
    });
    let commands: Vec<_> = pushes.chain(sets).collect();
    let encoded = commands
        .iter()
        .flat_map(|words| encode(&words.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    client.send(&encoded.collect::<Vec<_>>());
    for words in &commands {
        let reply = client.reply();
        assert!(matches!(reply, Frame::Integer(_)), "{words:?}: {}", show(&reply));
    }
    server.stop();
}

#[test]
fn what_one_command_brings_must_fit() {
    let limits = Limits { memory_bytes_max: Some(1 << 20), ..Limits::default() };
    let server = Running::start(4, limits);
    let mut client = server.connect();
    let (long, large) = ("x".repeat(100_000), "x".repeat(2_000_000));
    let mset = |count: usize| {
        let pairs = (0..count).flat_map(|n| [format!("k{n}"), long.clone()]);
        ["MSET".to_owned()].into_iter().chain(pairs).collect::<Vec<_>>()
    };
    for command in [
        vec!["SET", "k", &large],
        vec!["APPEND", "k", &large],
        vec!["RPUSH", "k", &large],
        vec!["MSET", "k", &large],
        mset(40).iter().map(String::as_str).collect(),
    ] {
        assert_eq!(client.text(&command), OOM, "{}", command[0]);
        assert_eq!(client.text(&["DBSIZE"]), "0", "{}", command[0]);
    }
    assert_eq!(client.text(&["MULTI"]), "OK");
    assert_eq!(client.text(&["SET", "k", &large]), OOM);
    assert!(client.text(&["EXEC"]).starts_with("EXECABORT"));
    let fits = mset(8);
    assert_eq!(client.text(&fits.iter().map(String::as_str).collect::<Vec<_>>()), "OK");
    assert_eq!(client.text(&["DBSIZE"]), "8");
    // Half of it would fit.
    let more = mset(4).join(" ").replace("k", "j");
    assert_eq!(client.text(&more.split(' ').collect::<Vec<_>>()), OOM);
    assert_eq!(client.text(&["DBSIZE"]), "8");
    server.stop();
}

#[test]
fn a_transaction_that_no_longer_fits_does_nothing() {
    let limits = Limits { memory_bytes_max: Some(1 << 20), ..Limits::default() };
    let server = Running::start(2, limits);
    let (mut one, mut two) = (server.connect(), server.connect());
    let large = "x".repeat(600_000);
    assert_eq!(one.text(&["MULTI"]), "OK");
    assert_eq!(one.text(&["SET", "{k}1", "x"]), "QUEUED");
    assert_eq!(one.text(&["SET", "{k}2", &large]), "QUEUED");
    assert_eq!(two.text(&["SET", "k", &large]), "OK");
    let refused = format!("EXECABORT Transaction discarded because of: {OOM}");
    assert_eq!(one.text(&["EXEC"]), refused);
    assert_eq!(one.text(&["DBSIZE"]), "1");
    server.stop();
}

#[test]
fn what_comes_at_one_time_must_fit_together() {
    const CLIENTS: usize = 8;
    let limits = Limits { memory_bytes_max: Some(1 << 20), ..Limits::default() };
    let server = Running::start(4, limits);
    let large = "x".repeat(300_000);
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for round in 0..20 {
        for (n, client) in clients.iter_mut().enumerate() {
            let (a, b) = (format!("{n}a"), format!("{n}b"));
            let set = encode(&[b"SET".as_slice(), a.as_bytes(), &[large.as_bytes(); 2].concat()]);
            let words = [
                b"MSET".as_slice(),
                a.as_bytes(),
                large.as_bytes(),
                b.as_bytes(),
                large.as_bytes(),
            ];
            client.send(&if n % 2 == 0 { set } else { encode(&words) });
        }
        let replies: Vec<String> = clients.iter_mut().map(|client| show(&client.reply())).collect();
        assert!(replies.iter().all(|reply| reply == "OK" || reply == OOM), "{replies:?}");
        let stored = replies.iter().filter(|reply| *reply == "OK").count();
        assert!(stored <= 1, "round {round}: {stored} of {CLIENTS}");
        let used = server.info("used_memory");
        assert!(used < 1 << 20, "round {round}: {used}");
        // Nobody keeps what was not used.
        assert_eq!(clients[0].text(&["FLUSHALL"]), "OK");
        assert_eq!(clients[0].text(&["SET", "all", &"x".repeat(1_000_000)]), "OK");
        assert_eq!(clients[0].text(&["FLUSHALL"]), "OK");
    }
    server.stop();
}

#[test]
fn a_thousand_clients_are_served_and_one_more_is_not() {
    let limits = Limits { clients_max: 1000, ..Limits::default() };
    let server = Running::start(2, limits);
    let mut clients: Vec<Client> = (0..1000).map(|_| server.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send(&encode(&[b"SET", format!("key{n}").as_bytes(), b"x"]));
    }
    for client in &mut clients {
        assert_eq!(show(&client.reply()), "OK");
    }
    assert_eq!(clients[0].text(&["DBSIZE"]), "1000");
    let mut late = server.connect();
    assert_eq!(show(&late.reply()), "ERR max number of clients reached");
    assert!(late.is_closed());
    drop(clients.split_off(500));
    let mut client = clients.pop().unwrap();
    let end = Instant::now() + PATIENCE;
    while !client.text(&["INFO", "clients"]).contains("connected_clients:500") {
        assert!(Instant::now() < end);
    }
    assert_eq!(server.connect().text(&["PING"]), "PONG");
    server.stop();
}

#[test]
fn clients_can_be_killed() {
    let server = Running::start(2, Limits::default());
    let (mut one, mut two) = (server.connect(), server.connect());
    let id = one.text(&["CLIENT", "ID"]);
    assert_eq!(two.text(&["CLIENT", "KILL", "ID", &id]), "1");
    assert!(one.is_closed());
    server.until("cut_killed", 1);
    // It is off the list: this one, and who asks for that, are left.
    server.until("connected_clients", 2);
    assert!(!two.text(&["CLIENT", "LIST"]).contains(&format!("id={id} ")));
    assert_eq!(two.text(&["CLIENT", "KILL", "1.2.3.4:5"]), "ERR No such client");
    assert_eq!(two.text(&["QUIT"]), "OK");
    assert!(two.is_closed());
    server.stop();
}

#[test]
fn shutting_down_answers_what_was_asked_and_closes() {
    let server = Running::start(2, Limits::default());
    let mut idle = server.connect();
    assert_eq!(idle.text(&["SET", "a", "1"]), "OK");
    let mut half = server.connect();
    half.send(b"*2\r\n$3\r\nGET");
    let mut ear = server.connect();
    assert_eq!(ear.text(&["SUBSCRIBE", "news"]), "[subscribe news 1]");
    let mut asking = server.connect();
    asking.send(&encode(&[b"INCR", b"n"]).repeat(100));
    assert_eq!(show(&asking.reply()), "1");
    server.stop();
    for client in [&mut idle, &mut half, &mut ear, &mut asking] {
        assert!(client.is_closed());
    }
}

#[test]
fn a_client_that_hangs_up_is_forgotten() {
    let server = Running::start(2, Limits::default());
    let mut client = server.connect();
    client.send(b"*2\r\n$3\r\nGET");
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert!(client.is_closed());
    server.until("connected_clients", 1);
    server.stop();
}

#[test]
fn scans_see_every_key_that_stays() {
    let server = Running::start(4, Limits::default());
    let mut client = server.connect();
    for n in 0..1000 {
        client.text(&["SET", &format!("key{n}"), "x"]);
    }
    let (mut cursor, mut seen) = ("0".to_owned(), std::collections::BTreeSet::new());
    loop {
        let reply = client.text(&["SCAN", &cursor, "COUNT", "50"]);
        let (next, keys) = reply[1..reply.len() - 1].split_once(' ').unwrap();
        seen.extend(
            keys.trim_matches(['[', ']'])
                .split(' ')
                .filter(|key| !key.is_empty())
                .map(str::to_owned),
        );
        if next == "0" {
            break;
        }
        cursor = next.to_owned();
    }
    assert_eq!(seen.len(), 1000);
    server.stop();
}
