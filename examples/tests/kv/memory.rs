//! What all clients of `kv` together can make it hold.

use std::net::TcpStream;
use std::thread::spawn;
use std::time::Duration;

use crate::kv_support::{Client, Running, encode, read, show};
use greenroom_examples::kv::Limits;

const MIB: usize = 1 << 20;

fn start(bytes_max: usize) -> Running {
    // However slow the machine, nobody is cut off for being so.
    let patient = Duration::from_secs(3600);
    let limits = Limits {
        clients_bytes_max: Some(bytes_max as u64),
        write_timeout: patient,
        request_timeout: patient,
        ..Limits::default()
    };
    Running::start(2, limits)
}

/// Reads so many bytes, or fewer if the connection ends before; returns how many.
fn read_up_to(stream: &mut TcpStream, bytes_max: usize) -> usize {
    let (mut buffer, mut count) = (vec![0; MIB], 0);
    while count < bytes_max {
        match read(stream, &mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(more) => count += more,
        }
    }
    count
}

fn set(server: &Running, key: &[u8], bytes: usize) {
    let mut client = server.connect();
    client.send(&encode(&[b"SET", key, &vec![b'x'; bytes]]));
    assert_eq!(show(&client.reply()), "OK");
}

/// Has `count` clients ask for the same long value, which they do not read.
fn ask(server: &Running, key: &[u8], count: usize) -> Vec<Client> {
    let mut clients: Vec<_> = (0..count).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(&encode(&[b"GET", key])));
    clients
}

fn reply_bytes(value_bytes: usize) -> usize {
    format!("${value_bytes}\r\n\r\n").len() + value_bytes
}

#[test]
fn replies_that_clients_leave_unread_have_a_common_limit() {
    // More than the buffers of the sockets take, and twice that is within the limit.
    let (value_bytes, bytes_max, count) = (32 * MIB, 80 * MIB, 6);
    let server = start(bytes_max);
    set(&server, b"large", value_bytes);
    let mut clients = ask(&server, b"large", count);
    server.until("evicted_clients", count as u64 - 2);
    let held = server.info("mem_clients_normal");
    assert!(held > 2 * value_bytes as u64 && held <= bytes_max as u64, "{held}");
    let served = clients
        .iter_mut()
        .map(|client| read_up_to(&mut client.stream, reply_bytes(value_bytes)))
        .filter(|read| *read == reply_bytes(value_bytes))
        .count();
    assert_eq!(served, 2);
    assert_eq!(server.connect().text(&["STRLEN", "large"]), value_bytes.to_string());
    server.stop();
}

#[test]
fn commands_that_clients_leave_unfinished_have_a_common_limit() {
    let (sent_bytes, count) = (12 * MIB, 6);
    let server = start(30 * MIB);
    let mut clients: Vec<_> = (0..count).map(|_| server.connect()).collect();
    let begun = [b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$20000000\r\n".to_vec(), vec![b'x'; sent_bytes]];
    let begun = begun.concat();
    for client in &mut clients {
        // It may be cut off before all is sent.
        let _ = client.try_send(&begun);
    }
    // Two are within the limit, and three are not.
    server.until("evicted_clients", count - 2);
    assert!(server.info("mem_clients_normal") <= 30 * MIB as u64);
    server.stop();
}

#[test]
fn messages_that_listeners_leave_unread_have_a_common_limit() {
    let (count, messages) = (4, 64);
    let server = start(8 * MIB);
    let mut ears: Vec<_> = (0..count).map(|_| server.connect()).collect();
    ears.iter_mut()
        .for_each(|ear| assert_eq!(ear.text(&["SUBSCRIBE", "news"]), "[subscribe news 1]"));
    let mut mouth = server.connect();
    let message = encode(&[b"PUBLISH", b"news", &vec![b'x'; MIB]]);
    for _ in 0..messages {
        mouth.send(&message);
        mouth.reply();
    }
    // What the sockets do not take of one listener's messages is more than the limit for all of them.
    server.until("evicted_clients", count);
    assert_eq!(server.info("cut_slow_listener"), 0);
    server.stop();
}

#[test]
fn what_clients_listen_to_is_held_for_them() {
    let server = start(16 * MIB);
    let mut ear = server.connect();
    let mut stream = ear.stream.try_clone().unwrap();
    // It reads, so that its replies are not what is held.
    let reading = spawn(move || read_up_to(&mut stream, usize::MAX));
    for round in 0..10 {
        let names: Vec<_> = (0..10_000).map(|name| format!("{round}:{name}")).collect();
        let words = [b"SUBSCRIBE".as_slice()].into_iter().chain(names.iter().map(String::as_bytes));
        // It may be cut off before.
        let _ = ear.try_send(&encode(&words.collect::<Vec<_>>()));
    }
    server.until("evicted_clients", 1);
    reading.join().unwrap();
    server.until("pubsub_channels", 0);
    server.stop();
}

#[test]
fn many_idle_clients_are_not_too_much() {
    let (bytes_max, count, asked) = (2 * MIB, 60, 1000);
    let server = start(bytes_max);
    set(&server, b"a", 20);
    let script = b"PING\r\nGET a\r\n".repeat(asked);
    let replies = asked * ("+PONG\r\n".len() + reply_bytes(20));
    let clients: Vec<_> = (0..count)
        .map(|_| {
            let mut client = server.connect();
            client.send(&script);
            assert_eq!(read_up_to(&mut client.stream, replies), replies);
            client
        })
        .collect();
    assert_eq!(server.info("evicted_clients"), 0);
    // Whoever asked before is gone only soon after.
    server.until("connected_clients", count as u64 + 1);
    drop(clients);
    server.stop();
}

#[test]
fn who_asks_to_be_spared_is_cut_off_last() {
    let (more, less) = (40 * MIB, 32 * MIB);
    let server = start(64 * MIB);
    set(&server, b"more", more);
    set(&server, b"less", less);
    let mut spared = server.connect();
    assert_eq!(spared.text(&["CLIENT", "NO-EVICT", "ON"]), "OK");
    assert!(spared.text(&["CLIENT", "INFO"]).contains(" flags=e "));
    spared.send(&encode(&[b"GET", b"more"]));
    let mut others = ask(&server, b"less", 3);
    // One of them beside it is too many already.
    server.until("evicted_clients", 3);
    assert_eq!(read_up_to(&mut spared.stream, reply_bytes(more)), reply_bytes(more));
    let served = others.iter_mut().map(|other| read_up_to(&mut other.stream, reply_bytes(less)));
    assert!(served.filter(|read| *read == reply_bytes(less)).count() == 0);
    server.stop();
}

#[test]
fn who_reads_may_have_more_than_all_may_hold() {
    let server = start(8 * MIB);
    set(&server, b"large", MIB);
    let mut client = server.connect();
    let count = 40;
    client.send(&encode(&[b"GET", b"large"]).repeat(count));
    assert_eq!(read_up_to(&mut client.stream, count * reply_bytes(MIB)), count * reply_bytes(MIB));
    assert_eq!(server.info("evicted_clients"), 0);
    server.stop();
}
