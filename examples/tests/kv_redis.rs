//! `kv` beside a real Redis: the same commands, byte-equal replies; and driven by Redis's own clients.
//!
//! Needs `redis-server`, `redis-cli` and `redis-benchmark`, so it is behind the feature `redis-tests`. There, a missing
//! program is a failure: on Debian they are in the packages redis-server and redis-tools.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod kv_support;
#[path = "kv_support/nodes.rs"]
mod nodes;
#[path = "kv_support/redis.rs"]
mod redis;
#[path = "kv_support/script.rs"]
mod script;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use greenroom_examples::kv::Limits;
use kv_support::{Client, Running, address_of, encode, ended, show, signal};
use nodes::Nodes;
use redis::{Peer, Raw, Redis, missing, program};
use script::Script;

/// Commands compared in each run.
const COMMANDS: usize = 6000;

/// Takes out of a reply what Redis itself does not determine.
fn settle(command: &[Vec<u8>], reply: &mut Raw) {
    let is_hashed = |reply: &Raw| reply.items.iter().any(|item| item.head.len() > 64);
    match command[0].to_ascii_uppercase().as_slice() {
        b"KEYS" | b"SMEMBERS" | b"HKEYS" => reply.sort(1),
        // A hash with a long value has no order; a small one that of insertion.
        b"HVALS" => reply.sort(1),
        b"HGETALL" if is_hashed(reply) => reply.sort(2),
        // The client's number.
        b"HELLO" if reply.items.len() == 14 => reply.items[7].head.clear(),
        _ => {}
    }
}

/// Returns whether two replies differ by no more than the time that may have passed between them; what the script sets is
/// further apart.
fn is_same_time(command: &[Vec<u8>], ours: &Raw, theirs: &Raw) -> bool {
    let tolerance = match command[0].to_ascii_uppercase().as_slice() {
        b"TTL" | b"EXPIRETIME" => 30,
        b"PTTL" | b"PEXPIRETIME" => 30_000,
        _ => return false,
    };
    let (Some(ours), Some(theirs)) = (ours.integer(), theirs.integer()) else { return false };
    ours > 0 && theirs > 0 && (ours - theirs).abs() <= tolerance
}

/// Runs one script against both and returns the first differences.
fn compare(seed: u64, shards: usize, hello: &str) -> Vec<String> {
    let redis = Redis::start();
    let server = Running::start(shards, Limits::default());
    let (mut theirs, mut ours) = (Peer::connect(redis.address), Peer::connect(server.address));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut script = Script::new(seed, now);
    let mut queued: Vec<Vec<Vec<u8>>> = Vec::new();
    let (mut differences, mut errors) = (Vec::new(), 0);
    theirs.call(&["HELLO", hello]);
    ours.call(&["HELLO", hello]);
    for number in 0..COMMANDS {
        let command = script.next();
        theirs.send(&command);
        ours.send(&command);
        let (mut expected, mut got) = (theirs.reply(), ours.reply());
        script.answered(&command, &expected.head);
        errors += usize::from(expected.head.starts_with(b"-"));
        if expected.head == b"+QUEUED\r\n" {
            queued.push(command.clone());
        } else if command[0].eq_ignore_ascii_case(b"EXEC") {
            let items = expected.items.iter_mut().zip(&mut got.items);
            for (command, (expected, got)) in queued.drain(..).zip(items) {
                settle(&command, expected);
                settle(&command, got);
                if is_same_time(&command, expected, got) {
                    got.clone_from(expected);
                }
            }
        } else if matches!(command[0].to_ascii_uppercase().as_slice(), b"DISCARD" | b"RESET") {
            queued.clear();
        }
        settle(&command, &mut expected);
        settle(&command, &mut got);
        if expected != got && !is_same_time(&command, &expected, &got) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let words: Vec<String> = command.iter().map(|word| text(word)).collect();
            differences.push(format!(
                "{number}: {words:?}\n  redis {:?}\n  kv    {:?}",
                text(&expected.bytes()),
                text(&got.bytes())
            ));
        }
    }
    assert!(errors < COMMANDS / 2, "the script says too little: {errors} errors");
    compare_scans(&mut theirs, &mut ours, &mut differences);
    drop((theirs, ours));
    server.stop();
    differences
}

/// Compares all keys as found by scans.
fn compare_scans(theirs: &mut Peer, ours: &mut Peer, differences: &mut Vec<String>) {
    for options in
        [&["COUNT", "3"][..], &["MATCH", "k*"], &["TYPE", "hash"], &["COUNT", "100", "MATCH", "*1"]]
    {
        let scan = |peer: &mut Peer| {
            peer.call(&["DISCARD"]);
            let (mut cursor, mut keys) = ("0".to_owned(), std::collections::BTreeSet::new());
            loop {
                let mut reply = peer.call(&[&["SCAN", &cursor], options].concat());
                keys.extend(reply.items.remove(1).items.iter().map(Raw::bytes));
                let head = String::from_utf8(reply.items.remove(0).head).unwrap();
                cursor = head.split("\r\n").nth(1).unwrap().to_owned();
                if cursor == "0" {
                    return keys;
                }
            }
        };
        let (expected, got) = (scan(theirs), scan(ours));
        if expected != got {
            differences.push(format!("SCAN {options:?}: {expected:?} {got:?}"));
        }
    }
}

fn assert_same(seed: u64, shards: usize, hello: &str) {
    let differences = compare(seed, shards, hello);
    let shown: Vec<_> = differences.iter().take(10).map(String::as_str).collect();
    assert!(
        differences.is_empty(),
        "{} differences, seed {seed}:\n{}",
        differences.len(),
        shown.join("\n")
    );
}

#[test]
fn replies_are_those_of_redis_in_resp2() {
    assert_same(1, 1, "2");
}

#[test]
fn replies_are_those_of_redis_in_resp3() {
    assert_same(2, 1, "3");
}

#[test]
fn replies_are_those_of_redis_over_shards() {
    assert_same(3, 2, "2");
    assert_same(4, 5, "3");
}

#[test]
fn malformed_requests_get_the_errors_of_redis() {
    let redis = Redis::start();
    let server = Running::start(2, Limits::default());
    let long = |start: &str| [start.as_bytes(), &[b'1'; 70_000]].concat();
    for bytes in [
        b"*x\r\n".to_vec(),
        b"*2147483648\r\n".to_vec(),
        b"*1\r\n:3\r\n".to_vec(),
        b"*1\r\n$-1\r\n".to_vec(),
        b"*1\r\n$600000000\r\n".to_vec(),
        b"*2\r\n$3\r\nGET\r\n+a\r\n".to_vec(),
        b"SET a \"b\r\n".to_vec(),
        b"SET a 'b'c\r\n".to_vec(),
        b"PING\r\n*1\r\nx\r\n".to_vec(),
        b"*0\r\n\r\n*-1\r\nPING\n QUIT \r\n".to_vec(),
        long("*"),
        long("*1\r\n$"),
        long(""),
    ] {
        let answer = |address| {
            let mut peer = Peer::connect(address);
            peer.stream.write_all(&bytes).unwrap();
            let mut all = Vec::new();
            // A connection closed with bytes unread is reset; what was answered before counts.
            let _ = peer.reader.read_to_end(&mut all);
            String::from_utf8_lossy(&all).into_owned()
        };
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        assert_eq!(answer(server.address), answer(redis.address), "{start:?}");
    }
    server.stop();
}

/// One client listens, in every way there is, while another publishes and empties the database.
fn conversation(address: SocketAddr, hello: &str) -> Vec<String> {
    let (mut ear, mut mouth) = (Peer::connect(address), Peer::connect(address));
    ear.call(&["HELLO", hello]);
    let mut heard = Vec::new();
    let mut hear = |ear: &mut Peer, replies: usize, is_ordered: bool| {
        let reply = |_| String::from_utf8_lossy(&ear.reply().bytes()).into_owned();
        let mut group: Vec<String> = (0..replies).map(reply).collect();
        if !is_ordered {
            group.sort();
        }
        heard.extend(group);
    };
    let mut said = Vec::new();
    for (words, replies) in [
        ("SUBSCRIBE news weather news", 3),
        ("PSUBSCRIBE n* *s w?ather", 3),
        ("PING", 1),
        ("GET key", 1),
        ("SUBSCRIBE", 1),
    ] {
        let words: Vec<Vec<u8>> = words.split(' ').map(|word| word.into()).collect();
        ear.send(&words);
        hear(&mut ear, replies, true);
    }
    for (words, replies) in [
        ("PUBLISH news one", 3),
        ("PUBLISH weather two", 2),
        ("PUBLISH sports three", 1),
        ("PUBLISH other four", 0),
        ("PUBLISH news", 0),
        ("SET key value", 0),
        ("DBSIZE", 0),
        ("FLUSHALL ASYNC", 0),
        ("DBSIZE", 0),
        ("FLUSHALL SYNC", 0),
        ("FLUSHALL NOW", 0),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        said.push(String::from_utf8_lossy(&mouth.call(&words).bytes()).into_owned());
        // Which of several patterns comes first is not determined.
        hear(&mut ear, replies, false);
    }
    for (words, replies) in
        [("UNSUBSCRIBE news nothing", 2), ("PUNSUBSCRIBE *s", 1), ("UNSUBSCRIBE", 1), ("QUIT", 1)]
    {
        let words: Vec<Vec<u8>> = words.split(' ').map(|word| word.into()).collect();
        ear.send(&words);
        hear(&mut ear, replies, true);
    }
    heard.extend(said);
    heard
}

#[test]
fn who_listens_and_who_publishes_hears_what_redis_says() {
    let redis = Redis::start();
    let server = Running::start(2, Limits::default());
    for hello in ["2", "3"] {
        let (ours, theirs) =
            [server.address, redis.address].map(|at| conversation(at, hello)).into();
        assert_eq!(ours, theirs, "RESP{hello}");
    }
    server.stop();
}

/// What a client gets that wants no replies and listens.
fn muted_conversation(address: SocketAddr) -> Vec<u8> {
    let (mut ear, mut mouth) = (Peer::connect(address), Peer::connect(address));
    ear.call(&["HELLO", "3"]);
    let before = "CLIENT REPLY OFF\nSUBSCRIBE a b\nPING\nGET x\n";
    let behind = "PSUBSCRIBE n*\nUNSUBSCRIBE a\nUNSUBSCRIBE\nUNSUBSCRIBE\nMULTI\nSUBSCRIBE c\nGET x\n\
                  UNSUBSCRIBE c\nEXEC\nSUBSCRIBE\nCLIENT REPLY ON\nCLIENT REPLY SKIP\nPUNSUBSCRIBE\nPING\nQUIT\n";
    ear.stream.write_all(before.as_bytes()).unwrap();
    let mut heard: Vec<u8> = (0..2).flat_map(|_| ear.reply().bytes()).collect();
    assert_eq!(mouth.call(&["PUBLISH", "b", "one"]).integer(), Some(1));
    heard.extend(ear.reply().bytes());
    ear.stream.write_all(behind.as_bytes()).unwrap();
    ear.reader.read_to_end(&mut heard).unwrap();
    heard
}

#[test]
fn who_wants_no_replies_hears_what_redis_says() {
    let redis = Redis::start();
    let server = Running::start(2, Limits::default());
    let text = |at| String::from_utf8(muted_conversation(at)).unwrap();
    assert_eq!(text(server.address), text(redis.address));
    server.stop();
}

/// The fields of `INFO`, with their values.
fn info(address: SocketAddr) -> BTreeMap<String, String> {
    let reply = Peer::connect(address).call(&["INFO"]).bytes();
    let text = String::from_utf8(reply).unwrap();
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

#[test]
fn clients_find_in_info_what_they_look_for() {
    let redis = Redis::start();
    let server = Running::start(2, Limits::default());
    for address in [server.address, redis.address] {
        let mut peer = Peer::connect(address);
        peer.call(&["MSET", "a", "1", "b", "2", "c", "3"]);
        peer.call(&["PEXPIRE", "a", "1000000"]);
        peer.call(&["SELECT", "4"]);
        peer.call(&["LPUSH", "l", "1"]);
    }
    let ears = [server.address, redis.address].map(Peer::connect).map(|mut ear| {
        ear.call(&["SUBSCRIBE", "a"]);
        ear.call(&["SUBSCRIBE", "b"]);
        ear.call(&["PSUBSCRIBE", "c*"]);
        ear
    });
    let (ours, theirs) = (info(server.address), info(redis.address));
    for same in
        ["redis_mode", "arch_bits", "role", "loading", "cluster_enabled", "connected_slaves"]
    {
        assert_eq!(ours.get(same), theirs.get(same), "{same}");
    }
    for same in ["maxclients", "maxmemory", "maxmemory_policy", "aof_enabled", "evicted_keys"] {
        assert_eq!(ours.get(same), theirs.get(same), "{same}");
    }
    for number in [
        "connected_clients",
        "blocked_clients",
        "used_memory",
        "tcp_port",
        "process_id",
        "uptime_in_seconds",
        "total_commands_processed",
        "total_connections_received",
        "total_net_input_bytes",
        "expired_keys",
        "pubsub_channels",
        "pubsub_patterns",
        "total_system_memory",
    ] {
        for fields in [&ours, &theirs] {
            assert!(fields[number].parse::<u64>().is_ok(), "{number}:{}", fields[number]);
        }
    }
    for same in ["pubsub_channels", "pubsub_patterns", "total_system_memory"] {
        assert_eq!(ours.get(same), theirs.get(same), "{same}");
    }
    for seconds in ["used_cpu_sys", "used_cpu_user"] {
        for fields in [&ours, &theirs] {
            assert!(fields[seconds].parse::<f64>().is_ok(), "{seconds}:{}", fields[seconds]);
        }
    }
    for db in ["db0", "db4"] {
        let keys = |fields: &BTreeMap<String, String>| {
            let (keys, _) = fields[db].rsplit_once(",avg_ttl=").unwrap();
            keys.to_owned()
        };
        assert_eq!(keys(&ours), keys(&theirs));
    }
    drop(ears);
    server.stop();
}

fn run(name: &str, arguments: &[&str]) -> String {
    let output =
        program(name).args(arguments).output().unwrap_or_else(|error| missing(name, &error));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{name} {arguments:?}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn redis_cli_works() {
    let server = Running::start(2, Limits::default());
    let port = server.address.port().to_string();
    let cli = |arguments: &[&str]| {
        run("redis-cli", &[&["-p", &port], arguments].concat()).trim().to_owned()
    };
    assert_eq!(cli(&["set", "greeting", "hello"]), "OK");
    assert_eq!(cli(&["get", "greeting"]), "hello");
    assert_eq!(cli(&["-3", "--json", "hgetall", "nope"]), "{}");
    assert_eq!(cli(&["-n", "5", "get", "greeting"]), "");
    assert_eq!(cli(&["-r", "5", "incr", "n"]), "1\n2\n3\n4\n5");
    for n in 0..100 {
        cli(&["set", &format!("key{n}"), "x"]);
    }
    assert_eq!(cli(&["--scan", "--pattern", "key*"]).lines().count(), 100);
    assert!(cli(&["info", "server"]).contains("redis_version:"));
    assert!(cli(&["client", "list"]).contains("cmd=client"));
    assert!(cli(&["--bigkeys"]).contains("Sampled 102 keys"));
    server.stop();
}

#[test]
fn redis_cli_sees_three_nodes_as_one_server() {
    // So many that no node is without, wherever the keys of this run's nodes place them.
    const KEYS: usize = 100;

    let mut nodes = Nodes::start_kept();
    let cli = |nodes: &Nodes, node: usize, arguments: &[&str]| {
        run("redis-cli", &[&["-p", &nodes.port(node)], arguments].concat()).trim().to_owned()
    };
    let pairs: Vec<_> = (0..KEYS).flat_map(|n| [format!("key{n}"), n.to_string()]).collect();
    let words: Vec<_> = ["mset"].into_iter().chain(pairs.iter().map(String::as_str)).collect();
    assert_eq!(cli(&nodes, 0, &words), "OK");
    for node in 0..nodes::COUNT {
        assert_eq!(cli(&nodes, node, &["dbsize"]), KEYS.to_string());
        assert_eq!(cli(&nodes, node, &["--scan", "--pattern", "key*"]).lines().count(), KEYS);
        assert_eq!(cli(&nodes, node, &["get", "key7"]), "7");
    }
    assert_eq!(cli(&nodes, 1, &["-r", "3", "incr", "n"]), "1\n2\n3");
    assert_eq!(cli(&nodes, 2, &["del", "n", "key0", "key1", "key2", "nope"]), "4");

    nodes.kill(2);
    nodes.until_down(2);
    let found = |nodes: &Nodes, node: usize| {
        (3..KEYS).map(|n| cli(nodes, node, &["get", &format!("key{n}")])).collect::<Vec<_>>()
    };
    let down = found(&nodes, 1).iter().filter(|text| text.starts_with("CLUSTERDOWN")).count();
    assert!(down > 0 && down < KEYS - 3, "{down}");
    nodes.launch(2);
    nodes.until_whole();
    let wanted: Vec<_> = (3..KEYS).map(|n| n.to_string()).collect();
    (0..nodes::COUNT).for_each(|node| assert_eq!(found(&nodes, node), wanted));
}

#[test]
fn redis_benchmark_works() {
    let server = Running::start(2, Limits::default());
    let port = server.address.port().to_string();
    let tests =
        "ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,lrange_100,mset";
    for pipeline in ["1", "16"] {
        let arguments = [
            "-p", &port, "-t", tests, "-c", "50", "-n", "20000", "-P", pipeline, "-r", "1000",
            "--csv",
        ];
        let figures = run("redis-benchmark", &arguments);
        assert!(figures.lines().count() >= 13, "{figures}");
    }
    server.stop();
}

#[test]
fn ten_thousand_clients_are_served() {
    const CLIENTS: usize = 10_000;
    rlimit::increase_nofile_limit(CLIENTS as u64 + 100).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_kv"))
        .args(["--listen", "127.0.0.1:0", "--workers", "2", "--max-clients", "10100"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let address = address_of(&mut child);
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::connect(address)).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.send(&encode(&[b"SET", format!("key{n}").as_bytes(), b"x"]));
    }
    for client in &mut clients {
        assert_eq!(show(&client.reply()), "OK");
    }
    // With all of them connected and idle, one client is served without delay.
    let mut took = Vec::new();
    for (n, client) in clients.iter_mut().take(1000).enumerate() {
        let asked = Instant::now();
        assert_eq!(client.text(&["GET", &format!("key{}", n * 7)]), "x");
        took.push(asked.elapsed());
    }
    took.sort_unstable();
    assert!(took[990] < Duration::from_secs(1), "{:?}", &took[990..]);
    assert!(clients[0].text(&["INFO", "clients"]).contains("connected_clients:10000"));
    signal(&child, "-TERM");
    assert!(ended(&mut child).success());
}
