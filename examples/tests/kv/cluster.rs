//! `kv --node`: three nodes share the keys, and any of them answers for all.

#[path = "../kv_support/nodes.rs"]
mod nodes;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::kv_support::{Client, PATIENCE, encode, show};
use nodes::{COUNT, Nodes};

/// Keys of each test.
const KEYS: usize = 200;

fn key(number: usize) -> String {
    format!("key:{number}")
}

/// Sends a command for each key, all at once, and returns what a node answers to each.
fn each_key(client: &mut Client, words: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    let command = |number: usize| {
        let words = words(number);
        encode(&words.iter().map(String::as_bytes).collect::<Vec<_>>())
    };
    client.send(&(0..KEYS).flat_map(command).collect::<Vec<_>>());
    (0..KEYS).map(|_| show(&client.reply())).collect()
}

/// Gives each key its number.
fn fill(client: &mut Client) {
    let set = |number: usize| vec!["SET".to_owned(), key(number), number.to_string()];
    assert_eq!(each_key(client, set), vec!["OK"; KEYS]);
}

/// What a node answers for each key.
fn values(client: &mut Client) -> Vec<String> {
    each_key(client, |number| vec!["GET".to_owned(), key(number)])
}

/// The lines of `INFO nodes`, without when things were so and how long the way is.
fn states(client: &mut Client) -> Vec<String> {
    let text = client.text(&["INFO", "nodes"]);
    let lines = text.lines().filter(|line| line.starts_with("node"));
    let state = |line: &str| {
        let (_, fields) = line.split_once(':').unwrap();
        let field = |key: &str| {
            fields
                .split(',')
                .find_map(|field| field.strip_prefix(key))
                .unwrap_or_default()
                .to_owned()
        };
        let since: u64 = field("since=").parse().unwrap();
        assert!(since > 1_000_000_000, "{line}");
        let is_measured = field("rtt_us=").parse::<u64>().is_ok();
        assert!(!is_measured || field("state=") == "up", "{line}");
        format!("{} {}", field("name="), field("state="))
    };
    lines.map(state).collect()
}

#[test]
fn info_says_how_each_node_is() {
    let mut nodes = Nodes::start();
    let mut client = nodes.client(1);
    assert_eq!(states(&mut client), ["1 here", "0 up", "2 up"]);
    fill(&mut client);
    let text = client.text(&["INFO"]);
    assert_eq!(text.matches(",rtt_us=").count(), 2, "messages were acknowledged: {text}");
    nodes.kill(0);
    nodes.until_down(0);
    // What is said of it changes a little later.
    let end = Instant::now() + PATIENCE;
    while states(&mut client) != ["1 here", "0 down", "2 up"] {
        assert!(Instant::now() < end, "{:?}", states(&mut client));
    }
    nodes.launch(0);
    nodes.until_whole();
    assert_eq!(states(&mut client), ["1 here", "0 up", "2 up"]);
}

#[test]
fn any_node_answers_for_all_keys() {
    let mut nodes = Nodes::start();
    let mut clients = [0, 1, 2].map(|node| nodes.client(node));
    fill(&mut clients[0]);
    let wanted: Vec<_> = (0..KEYS).map(|number| number.to_string()).collect();
    for client in &mut clients {
        assert_eq!(values(client), wanted);
        assert_eq!(client.text(&["DBSIZE"]), KEYS.to_string());
        assert!(client.text(&["INFO"]).contains(&format!("db0:keys={KEYS},")));
    }

    // Commands for keys of several nodes.
    assert_eq!(clients[0].text(&["MSET", "a", "1", "b", "2", "c", "3", "d", "4"]), "OK");
    assert_eq!(clients[1].text(&["MGET", "d", "nope", "a", "c"]), "[4 nil 1 3]");
    assert_eq!(clients[2].text(&["EXISTS", "a", "b", "c", "d", "e"]), "4");
    assert_eq!(clients[0].text(&["DEL", "a", "b", "c", "d"]), "4");
    let found = clients[1].text(&["KEYS", "key:*"]);
    assert_eq!(found.split(' ').count(), KEYS);

    // All keys, each once, some at a time.
    let (mut seen, mut cursor) = (BTreeSet::new(), "0".to_owned());
    loop {
        let text = clients[2].text(&["SCAN", &cursor, "COUNT", "50"]);
        let (next, keys) = text.trim_start_matches('[').split_once(" [").unwrap();
        for key in keys.trim_matches(']').split(' ').filter(|key| !key.is_empty()) {
            assert!(seen.insert(key.to_owned()), "{key} comes twice");
        }
        cursor = next.to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), KEYS);

    // Many commands at once come back in their order, and replies that one answer does not hold.
    let big = "x".repeat(300_000);
    assert_eq!(clients[0].text(&["SET", "big", &big]), "OK");
    let words = |number: usize| {
        let key = if number.is_multiple_of(3) { "big".to_owned() } else { key(number) };
        encode(&[b"GET", key.as_bytes()])
    };
    for client in &mut clients {
        client.send(&(0..30).flat_map(words).collect::<Vec<_>>());
        for number in 0..30 {
            let found = show(&client.reply());
            let right = if number % 3 == 0 { found == big } else { found == number.to_string() };
            assert!(right, "reply {number}: {found:.80}");
        }
    }
    (0..COUNT).for_each(|node| nodes.stop(node));
}

#[test]
fn transactions_watch_what_other_nodes_clients_do() {
    let nodes = Nodes::start();
    let mut clients = [0, 1, 2].map(|node| nodes.client(node));
    // Each tag is on some node; some are on another one than the client, whichever that is.
    for tag in 0..4 {
        let key = format!("{{{tag}}}n");
        let [one, two, _] = &mut clients;
        assert_eq!(one.text(&["SET", &key, "1"]), "OK");
        assert_eq!(one.text(&["WATCH", &key]), "OK");
        assert_eq!(one.text(&["MULTI"]), "OK");
        assert_eq!(one.text(&["INCR", &key]), "QUEUED");
        assert_eq!(one.text(&["EXEC"]), "[2]");
        assert_eq!(one.text(&["WATCH", &key]), "OK");
        assert_eq!(two.text(&["INCR", &key]), "3");
        assert_eq!(one.text(&["MULTI"]), "OK");
        assert_eq!(one.text(&["INCR", &key]), "QUEUED");
        assert_eq!(one.text(&["EXEC"]), "nil", "it was changed meanwhile");
        // A client of the same number at another node is somebody else.
        assert_eq!(one.text(&["WATCH", &key]), "OK");
        assert_eq!(two.text(&["UNWATCH"]), "OK");
        assert_eq!(clients[2].text(&["INCR", &key]), "4");
        let [one, ..] = &mut clients;
        assert_eq!(one.text(&["MULTI"]), "OK");
        assert_eq!(one.text(&["GET", &key]), "QUEUED");
        assert_eq!(one.text(&["EXEC"]), "nil");
    }
}

#[test]
fn a_watch_that_a_node_lost_stops_the_transaction() {
    let mut nodes = Nodes::start_kept();
    let keys: Vec<_> = (0..16).map(key).collect();
    let mut clients: Vec<_> = keys.iter().map(|_| nodes.client(0)).collect();
    for (client, key) in clients.iter_mut().zip(&keys) {
        assert_eq!(client.text(&["WATCH", key]), "OK");
    }
    nodes.kill(1);
    nodes.launch(1);
    nodes.until_whole();
    let mut other = nodes.client(2);
    for (client, key) in clients.iter_mut().zip(&keys) {
        assert_eq!(other.text(&["SET", key, "other"]), "OK");
        assert_eq!(client.text(&["MULTI"]), "OK");
        assert_eq!(client.text(&["SET", key, "one"]), "QUEUED");
        assert_eq!(client.text(&["EXEC"]), "nil", "{key} was changed meanwhile");
        assert_eq!(other.text(&["GET", key]), "other");
    }
}

#[test]
fn keys_of_a_node_that_was_killed_are_back_when_it_is() {
    let mut nodes = Nodes::start_kept();
    let mut client = nodes.client(0);
    fill(&mut client);
    nodes.kill(1);
    nodes.until_down(1);
    // What it has is answered with an error at once, and everything else as ever.
    let found = values(&mut nodes.client(2));
    let (mut down, mut there) = (0, 0);
    for (number, value) in found.iter().enumerate() {
        if value.starts_with("CLUSTERDOWN node 1") {
            down += 1;
        } else {
            assert_eq!(*value, number.to_string());
            there += 1;
        }
    }
    assert!(down > KEYS / 6 && there > KEYS / 3, "{down} are down, {there} are there");
    let all: Vec<_> = (0..KEYS).map(key).collect();
    let words: Vec<_> = ["MGET"].into_iter().chain(all.iter().map(String::as_str)).collect();
    assert!(client.text(&words).starts_with("CLUSTERDOWN node 1"));
    assert!(client.text(&["INFO"]).contains("redis_version"), "numbers of those that are up");

    nodes.launch(1);
    nodes.until_whole();
    let wanted: Vec<_> = (0..KEYS).map(|number| number.to_string()).collect();
    for node in 0..COUNT {
        assert_eq!(values(&mut nodes.client(node)), wanted, "as node {node} sees it");
    }

    // Restarted before anybody has missed it, it is another run, and noticed as well.
    nodes.kill(2);
    nodes.launch(2);
    nodes.until_whole();
    for node in 0..COUNT {
        assert_eq!(values(&mut nodes.client(node)), wanted, "as node {node} sees it");
    }
}

#[test]
fn others_hear_of_a_node_that_ends_because_its_disk_is_full() {
    // Well before a silence would tell; now and then a machine that has much to do takes as long.
    let is_early = |_| error_after_a_full_disk() < Duration::from_millis(2_500);
    assert!((0..3).any(is_early), "as late as by a silence");
}

/// A node ends because its disk is full; returns how long another one takes to answer with an error then.
fn error_after_a_full_disk() -> Duration {
    let mut nodes = Nodes::start_kept();
    nodes.stop(1);
    nodes.launch_limited(1);
    nodes.until_whole();
    let (mut client, mut other) = (nodes.client(1), nodes.client(0));
    let value = vec![b'x'; 200_000];
    let full = (0..1_000).find(|number| {
        let sent = client.try_send(&encode(&[b"SET", key(*number).as_bytes(), &value]));
        sent.and_then(|()| client.try_reply()).is_err()
    });
    assert!(full.is_some(), "the limit holds");
    assert_eq!(nodes.ended(1), Some(1));
    let asked = Instant::now();
    let text = other.text(&["DBSIZE"]);
    assert!(text.starts_with("CLUSTERDOWN node 1"), "{text}");
    asked.elapsed()
}

#[test]
fn a_scan_misses_nothing_of_a_node_that_was_started_again() {
    let mut nodes = Nodes::start_kept();
    fill(&mut nodes.client(0));
    // By way of another node, whose client notices nothing but a pause.
    let mut client = nodes.client(1);
    let (mut seen, mut cursor, mut shards) = (BTreeSet::new(), 0_u64, BTreeSet::new());
    loop {
        let text = client.text(&["SCAN", &cursor.to_string(), "COUNT", "5"]);
        let (next, keys) = text.trim_start_matches('[').split_once(" [").unwrap();
        seen.extend(keys.trim_matches(']').split(' ').map(str::to_owned));
        cursor = next.parse().unwrap();
        if cursor == 0 {
            break;
        }
        // Once in the middle of each shard, also of those that it does not have.
        let (place, shard) = (cursor >> 10, cursor % 1024);
        if place > 0 && shards.insert(shard) {
            nodes.kill(0);
            nodes.launch(0);
            nodes.until_whole();
        }
    }
    seen.remove("");
    assert_eq!((seen.len(), shards.len()), (KEYS, 2 * COUNT));
}

#[test]
fn what_is_too_large_for_another_node_is_not_done_and_harms_nobody() {
    let nodes = Nodes::start();
    let mut client = nodes.client(0);
    let value = vec![b'x'; 16 << 20];
    let (mut done, mut refused) = (0, 0);
    for number in 0..10 {
        client.send(&encode(&[b"SET", key(number).as_bytes(), &value]));
        match show(&client.reply()).as_str() {
            "OK" => done += 1,
            text => {
                assert!(
                    text.contains("too large for node ")
                        && text.ends_with("nothing was done there"),
                    "{text}"
                );
                refused += 1;
                assert_eq!(client.text(&["EXISTS", &key(number)]), "0");
            }
        }
        assert_eq!(client.text(&["DBSIZE"]), done.to_string(), "all nodes are there");
    }
    assert!(refused > 0, "some key is of another node");
}

#[test]
fn what_is_sent_together_is_not_too_large_for_another_node() {
    let nodes = Nodes::start();
    let mut client = nodes.client(0);
    let large = vec![b'x'; 16 << 20];
    let is_near = |number: &usize| {
        client.send(&encode(&[b"SET", key(*number).as_bytes(), &large]));
        show(&client.reply()) == "OK"
    };
    let (near, far): (Vec<_>, Vec<_>) = (0..10).partition(is_near);
    // Replies that are not read: what comes meanwhile is in one turn when they are.
    let get = encode(&[b"GET", key(near[0]).as_bytes()]).repeat(3);
    let set = |bytes: usize| encode(&[b"SET", key(far[0]).as_bytes(), &vec![b'x'; bytes]]);
    let script = [get, set(100_000).repeat(250), set(14 << 20), set(16 << 20), set(5)].concat();
    client.send(&script);
    (0..3).for_each(|_| assert!(show(&client.reply()).len() == large.len()));
    for _ in 0..251 {
        assert_eq!(show(&client.reply()), "OK");
    }
    let refused = show(&client.reply());
    assert!(refused.starts_with("ERR too large for node "), "{refused}");
    assert_eq!(show(&client.reply()), "OK");
    assert_eq!(client.text(&["STRLEN", &key(far[0])]), "5");
}

#[test]
fn nodes_that_differ_about_the_shards_say_so() {
    let mut nodes = Nodes::start();
    nodes.stop(2);
    nodes.until_down(2);
    nodes.launch_with(2, "3");
    nodes.until(0, |text| text.contains("--shards differs"));
    nodes.until(2, |text| text.contains("--shards differs"));
}

#[test]
fn a_directory_is_that_of_one_node_among_the_same_nodes() {
    let mut nodes = Nodes::start_kept();
    fill(&mut nodes.client(0));
    (0..COUNT).for_each(|node| nodes.stop(node));

    let other = nodes.refusal(&["--node", "0.toml", "--dir", "data-1"]);
    assert!(other.contains("because: the data is of node "), "{other}");
    assert!(other.contains(", not of node "), "{other}");
    let alone = nodes.refusal(&["--dir", "data-0"]);
    assert!(alone.contains(", not of a server that is alone: "), "{alone}");
    // Keys that are not to be had would be answered as if they were none.
    let whole = nodes.rewrite(0, |text| text.rsplit_once("[[peer]]").unwrap().0.to_owned());
    let fewer = nodes.refusal(&["--node", "0.toml", "--dir", "data-0"]);
    assert!(fewer.contains("the data is of node ") && fewer.contains(", not of node "), "{fewer}");
    assert!(nodes.refusal(&["--node", "gone.toml", "--dir", "new"]).contains("gone.toml"));

    nodes.rewrite(0, |_| whole.clone());
    (0..COUNT).for_each(|node| nodes.launch(node));
    nodes.until_whole();
    let wanted: Vec<_> = (0..KEYS).map(|number| number.to_string()).collect();
    assert_eq!(values(&mut nodes.client(0)), wanted);
}

#[test]
fn a_directory_of_a_server_that_was_alone_is_not_for_a_node() {
    let mut nodes = Nodes::start();
    nodes.stop(0);
    // As servers that are alone write it, and as nodes did before they said whose it is.
    nodes.make("data", "4\n");
    let text = nodes.refusal(&["--node", "0.toml", "--dir", "data"]);
    assert!(text.contains("the data is of a server that is alone, not of node "), "{text}");
}

#[test]
fn a_file_that_cannot_be_used_is_explained() {
    let kv = Command::new(env!("CARGO_BIN_EXE_kv")).args(["--node", "gone.toml"]).output().unwrap();
    assert_eq!(kv.status.code(), Some(1));
    let text = String::from_utf8_lossy(&kv.stderr).into_owned();
    assert!(text.contains("cannot be the node of gone.toml"), "{text}");
    assert!(text.contains("because: gone.toml: it cannot be read"), "{text}");
    assert_eq!(text.matches("No such file").count(), 1, "{text}");
}

/// Whom a membership finds would have no keys, so it is not passed over in silence.
#[test]
fn a_file_with_a_membership_is_refused() {
    let mut nodes = Nodes::start();
    nodes.stop(0);
    for line in ["seeds = [\"udp:127.0.0.1:1\"]", "dns = [\"localhost:1\"]", "period-ms = 500"] {
        let before = nodes.rewrite(0, |text| format!("{text}\n[membership]\n{line}\n"));
        let text = nodes.refusal(&["--node", "0.toml"]);
        nodes.rewrite(0, |_| before.clone());
        assert!(text.contains("take [membership] out of its file"), "{text}");
    }
}
