//! The store by itself: expiry, memory, scanning, patterns.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::fields::Fields;
use super::{matches, route};
use crate::kv::tests::Server;

#[test]
fn keys_end_when_their_time_comes() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    assert_eq!(
        server.say(&mut client, "SET a 1 PX 100\nSET b 1 EX 1\nPTTL a\nTTL b"),
        "+OK +OK :100 :1"
    );
    server.now += 100;
    assert_eq!(server.say(&mut client, "GET a\nEXISTS b\nDBSIZE\nTTL a"), "$-1 :1 :1 :-2");
    server.say(&mut client, "SET d 5 PX 10\nRPUSH l 5\nPEXPIRE l 10");
    server.now += 10;
    assert_eq!(server.say(&mut client, "INCR d\nTTL d\nRPUSH l 6\nDEL d l"), ":1 :-1 :1 :2");
    assert_eq!(
        server.say(&mut client, "PERSIST b\nTTL b\nEXPIRE b 100 GT\nEXPIRE b 100 LT\nEXPIRE b 0"),
        ":1 :-1 :0 :1 :1"
    );
    assert_eq!(
        server.say(
            &mut client,
            "SET c 1 KEEPTTL GET\nGETEX c EX 5\nTTL c\nSET c 2 KEEPTTL\nTTL c\nSET c 3\nTTL c"
        ),
        "$-1 $1 1 :5 +OK :5 +OK :-1"
    );
}

#[test]
fn getex_takes_an_option_twice_as_redis_does() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    assert_eq!(
        server.say(
            &mut client,
            "SET k v\nGETEX k EX 10 EX 20\nTTL k\nGETEX k PERSIST PERSIST\nTTL k"
        ),
        "+OK $1 v :20 $1 v :-1"
    );
    for options in
        ["EX 10 PX 5", "PERSIST EX 5", "EX 10 PERSIST", "KEEPTTL", "NX", "EX", "GET", "EX 1 EX"]
    {
        let line = format!("GETEX k {options}");
        assert_eq!(server.say(&mut client, &line), "-ERR syntax error", "{line}");
    }
}

#[test]
fn sweeping_takes_out_what_nobody_asks_for() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    for n in 0..5000 {
        server.say(&mut client, &format!("SET stays{n} 1\nSET goes{n} 1 PX 50"));
    }
    server.now += 51;
    let now = server.now;
    let shard = &mut server.shards()[0];
    shard.set_now(now);
    let before = shard.used();
    let mut taken = 0;
    for _ in 0..20 {
        taken += shard.sweep(2000);
    }
    assert_eq!(taken, 5000);
    assert!(shard.used() < before * 6 / 10);
    assert_eq!(shard.sweep(1_000_000), 0);
    assert_eq!(server.say(&mut client, "DBSIZE"), ":5000");
}

#[test]
fn a_key_may_live_until_the_latest_time_there_is() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    server.say(&mut client, &format!("SET a 1\nPEXPIREAT a {}", i64::MAX));
    assert_eq!(server.say(&mut client, "EXPIRETIME a"), ":9223372036854776");
    server.say(&mut client, "PEXPIREAT a 4000000000499");
    assert_eq!(server.say(&mut client, "EXPIRETIME a"), ":4000000000");
    server.say(&mut client, "PEXPIREAT a 4000000000500");
    assert_eq!(server.say(&mut client, "EXPIRETIME a"), ":4000000001");
}

#[test]
fn memory_is_given_back_whatever_was_stored() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    let long = "x".repeat(500);
    let script = format!(
        "SET s {long}\nAPPEND s {long}\nSET s 1\nINCR s\nAPPEND s a\nGETSET s b\nRPUSH l a b {long} c\nLPOP l 2\n\
         HSET h a 1 b {long}\nHSET h a 2 c 3\nHDEL h b\nSADD m a b {long}\nSREM m {long}\nSET e 1 PX 10\nMSET x 1 y 2"
    );
    server.say(&mut client, &script);
    assert!(server.shards()[0].used() > 1000);
    server.now += 10;
    server.say(&mut client, "GET e\nDEL s l\nHDEL h a c\nSREM m a b\nGETDEL x\nFLUSHALL");
    assert_eq!(server.shards()[0].used(), 0);
    assert_eq!(server.say(&mut client, "EXISTS l h m"), ":0");
}

#[test]
fn what_was_taken_out_of_a_collection_takes_no_memory() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    for n in 0..10_000 {
        server.say(&mut client, &format!("RPUSH l {n}\nHSET h {n} {n}\nSADD s {n}"));
    }
    let full = server.shards()[0].used();
    server.say(&mut client, "LPOP l 5000\nRPOP l 4990");
    for n in 10..10_000 {
        server.say(&mut client, &format!("HDEL h {n}\nSREM s {n}"));
    }
    assert_eq!(
        server.say(&mut client, "LLEN l\nHLEN h\nSCARD s\nLINDEX l 0"),
        ":10 :10 :10 $4 5000"
    );
    let left = server.shards()[0].used();
    assert!(left < 5000, "{left} of {full}");
    server.say(&mut client, "DEL l h s");
    assert_eq!(server.shards()[0].used(), 0);
}

#[test]
fn scanning_misses_nothing_that_stays() {
    for shards in [1, 3] {
        let mut server = Server::new(shards);
        let (mut client, mut other) = (server.connect(), server.connect());
        for n in 0..2000 {
            server.say(&mut client, &format!("SET stays{n} 1\nSET goes{n} 1"));
        }
        let (mut cursor, mut seen, mut calls) = ("0".to_owned(), BTreeSet::new(), 0);
        loop {
            let reply = server.say(&mut client, &format!("SCAN {cursor} COUNT 30 MATCH stays*"));
            let words: Vec<&str> = reply.split(' ').collect();
            cursor = words[2].to_owned();
            seen.extend(
                words[3..]
                    .iter()
                    .filter(|word| word.starts_with("stays"))
                    .map(|word| (*word).to_owned()),
            );
            // The table grows and shrinks meanwhile.
            for n in 0..20 {
                server
                    .say(&mut other, &format!("SET new{calls}x{n} 1\nDEL goes{}", calls * 20 + n));
            }
            calls += 1;
            if cursor == "0" {
                break;
            }
        }
        assert_eq!(seen.len(), 2000, "{shards} shards");
        assert!(calls < 400, "{calls} calls");
    }
}

#[test]
fn scan_filters_and_refuses() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    server.say(&mut client, "SET a 1\nLPUSH b 1\nHSET c f 1");
    assert_eq!(server.say(&mut client, "SCAN 0 TYPE list"), "*2 $1 0 *1 $1 b");
    assert_eq!(
        server.say(&mut client, "SCAN 0 MATCH [a-b] TYPE STRING COUNT 100"),
        "*2 $1 0 *1 $1 a"
    );
    assert_eq!(server.say(&mut client, "SCAN x"), "-ERR invalid cursor");
    assert_eq!(server.say(&mut client, "SCAN -1 x"), "-ERR syntax error");
    server.say(&mut client, "FLUSHALL");
    for cursor in ["-1", "-0", "+1", "\"\"", "00", "18446744073709551615", "1\\x00x"] {
        let scan = format!("SCAN \"{}\"", cursor.trim_matches('"'));
        assert_eq!(server.say(&mut client, &scan), "*2 $1 0 *0", "{cursor}");
    }
    for cursor in [" 1", "1 ", "\\t1", "-", "+", "--1", "+-1", "18446744073709551616", "\\xff"] {
        let scan = format!("SCAN \"{cursor}\"");
        assert_eq!(server.say(&mut client, &scan), "-ERR invalid cursor", "{cursor}");
    }
    assert_eq!(server.say(&mut client, "SCAN 0 COUNT 0"), "-ERR syntax error");
}

#[test]
fn a_cursor_of_another_process_begins_its_shard_anew() {
    let mut server = Server::new(2);
    let mut client = server.connect();
    (0..100).for_each(|n| drop(server.say(&mut client, &format!("SET key{n} 1"))));
    let first = server.say(&mut client, "SCAN 1 COUNT 10");
    let cursor: u64 = first.split(' ').nth(2).unwrap().parse().unwrap();
    assert!(cursor % 1024 == 1 && cursor < 1 << 53, "{cursor}");
    assert_ne!(server.say(&mut client, &format!("SCAN {cursor} COUNT 10")), first);
    let foreign = cursor ^ 1 << 52;
    assert_eq!(server.say(&mut client, &format!("SCAN {foreign} COUNT 10")), first);
    let last = server.say(&mut client, &format!("SCAN {} COUNT 10", u64::MAX));
    assert_eq!(last, first);
}

#[test]
fn tagged_keys_lie_together() {
    for shards in [1, 2, 5, 64] {
        let home = route(b"{user7}.name", shards);
        assert!(home < shards);
        assert_eq!(home, route(b"user7", shards));
        assert_eq!(home, route(b"x{user7}{other}", shards));
    }
    // An empty or open tag is none.
    let spread: BTreeSet<usize> =
        (0..100).map(|n| route(format!("{{}}{n}").as_bytes(), 64)).collect();
    assert!(spread.len() > 20);
    let even = (0..10_000).filter(|n| route(format!("key:{n:012}").as_bytes(), 2) == 0).count();
    assert!((4_700..5_300).contains(&even), "{even}");
}

#[test]
fn keys_lie_where_they_did() {
    // Kept data and other nodes rely on it.
    let homes = |key: &str| [2, 7, 64, 1000].map(|shards| route(key.as_bytes(), shards));
    assert_eq!(homes("a"), [0, 0, 1, 25]);
    assert_eq!(homes("{user:1000}.name"), [0, 2, 24, 383]);
    assert_eq!(homes("a.long.name.of.a.key"), [0, 3, 27, 435]);
}

#[test]
fn keys_that_were_made_to_collide_do_not() {
    // The first eight bytes take all of FxHash's state, whatever the others are.
    let hashes: BTreeSet<u64> = (0..10_000_u64)
        .map(|n| {
            super::db::hash(&[0xd308_a385_886a_3f24_u64.to_be_bytes(), n.to_le_bytes()].concat())
        })
        .collect();
    assert_eq!(hashes.len(), 10_000);
}

#[test]
fn patterns_match_as_in_redis() {
    let cases: [(&str, &str, bool); 14] = [
        ("*", "", true),
        ("h?llo", "hello", true),
        ("h*llo", "heeeello", true),
        ("h[ae]llo", "hallo", true),
        ("h[^e]llo", "hello", false),
        ("h[a-c]llo", "hbllo", true),
        ("h[c-a]llo", "hbllo", true),
        ("\\*", "*", true),
        ("\\*", "a", false),
        ("[\\]]", "]", true),
        ("a*b*c", "aXbYbc", true),
        ("a*b*c", "aXbY", false),
        ("[ab", "a", true),
        ("", "a", false),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
    }
}

proptest! {
    #[test]
    fn fields_behave_as_a_map(changes in prop::collection::vec((0u16..300, any::<bool>()), 0..600)) {
        let mut fields: Fields<Box<[u8]>> = Fields::default();
        let mut model = std::collections::BTreeMap::new();
        for (name, insert) in changes {
            let name = name.to_string().into_bytes();
            if insert {
                prop_assert_eq!(fields.insert(&name, name.as_slice().into()), model.insert(name.clone(), name).is_none());
            } else {
                prop_assert_eq!(fields.remove(&name), model.remove(&name).is_some());
            }
        }
        prop_assert_eq!(fields.len(), model.len());
        let mut listed = BTreeSet::new();
        fields.for_each(|name, _| { listed.insert(name.to_vec()); });
        prop_assert_eq!(listed, model.keys().cloned().collect::<BTreeSet<_>>());
        model.keys().for_each(|name| assert!(fields.remove(name)));
        prop_assert!(fields.len() == 0);
    }

    #[test]
    fn a_pattern_without_meaning_matches_itself(text in "[a-z0-9:{}]{0,20}") {
        prop_assert!(matches(text.as_bytes(), text.as_bytes()));
    }
}
