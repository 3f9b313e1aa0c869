//! Transactions, and the keys they watch.

use super::Server;
use crate::kv::stitch::Stitched;
use crate::kv::store::WatchId;

#[test]
fn transactions_run_on_one_shard_and_say_so() {
    let mut server = Server::new(4);
    let mut client = server.connect();
    assert_eq!(
        server.say(&mut client, "MULTI\nSET {u}a 1\nPING\nINCR {u}a\nEXEC"),
        "+OK +QUEUED +QUEUED +QUEUED *3 +OK +PONG :2"
    );
    let refused =
        server.say(&mut client, "MULTI\nSET a 1\nSET b 1\nSET c 1\nSET d 1\nSET e 1\nEXEC");
    assert!(refused.contains("-CROSSSLOT"), "{refused}");
    assert!(
        refused.ends_with("-EXECABORT Transaction discarded because of previous errors."),
        "{refused}"
    );
    assert_eq!(
        server.say(&mut client, "EXEC\nDISCARD"),
        "-ERR EXEC without MULTI -ERR DISCARD without MULTI"
    );
    assert_eq!(
        server.say(&mut client, "MULTI\nMULTI\nDISCARD"),
        "+OK -ERR MULTI calls can not be nested +OK"
    );
    assert_eq!(
        server.say(&mut client, "MULTI\nNOPE\nEXEC").split(" -").last(),
        Some("EXECABORT Transaction discarded because of previous errors.")
    );
    assert_eq!(server.say(&mut client, "GET a"), "$-1");
}

#[test]
fn an_exec_that_is_none_ends_the_transaction() {
    let mut server = Server::new(1);
    let (mut client, mut other) = (server.connect(), server.connect());
    let wrong =
        "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
    assert_eq!(
        server.say(&mut client, "WATCH a\nMULTI\nEXEC foo\nPING\nEXEC"),
        format!("+OK +OK {wrong} +PONG -ERR EXEC without MULTI")
    );
    server.say(&mut other, "SET a 1");
    assert_eq!(server.say(&mut client, "MULTI\nGET a\nEXEC"), "+OK +QUEUED *1 $1 1");
    assert_eq!(
        server.say(&mut client, "MULTI\nDISCARD foo\nEXEC"),
        "+OK -ERR wrong number of arguments for 'discard' command \
         -EXECABORT Transaction discarded because of previous errors."
    );
}

#[test]
fn a_watched_key_that_changes_stops_the_transaction() {
    for shards in [1, 4] {
        let mut server = Server::new(shards);
        let (mut one, mut two) = (server.connect(), server.connect());
        assert_eq!(
            server.say(&mut one, "SET {u}a 1\nWATCH {u}a {u}b\nMULTI\nINCR {u}a\nPING"),
            "+OK +OK +OK +QUEUED +QUEUED"
        );
        assert_eq!(server.say(&mut two, "SET {u}b 1"), "+OK");
        assert_eq!(server.say(&mut one, "EXEC\nGET {u}a"), "*-1 $1 1");
        assert_eq!(
            server.say(&mut one, "WATCH {u}a\nMULTI\nINCR {u}a\nEXEC"),
            "+OK +OK +QUEUED *1 :2"
        );
        assert_eq!(
            server.say(&mut one, "WATCH {u}a\nUNWATCH\nSET {u}a 5\nMULTI\nINCR {u}a\nEXEC"),
            "+OK +OK +OK +OK +QUEUED *1 :6"
        );
        // Expiry counts as a change.
        assert_eq!(server.say(&mut one, "SET {u}a 5 PX 10\nWATCH {u}a"), "+OK +OK");
        server.now += 20;
        assert_eq!(server.say(&mut one, "MULTI\nINCR {u}a\nEXEC"), "+OK +QUEUED *-1");
    }
}

#[test]
fn a_transaction_that_is_refused_changes_nothing() {
    let mut server = Server::new(1);
    let (mut one, mut two) = (server.connect(), server.connect());
    let script = "MULTI\nSELECT 3\nSUBSCRIBE c\nPSUBSCRIBE p\nCLIENT SETNAME me\nCLIENT KILL ID 2\nCONFIG SET maxmemory 7\n\
                  CONFIG GET maxmemory\nCLIENT KILL ID 1 SKIPME no\nHELLO 3\nEXEC";
    let behind = "PING\nSET a 1\nCLIENT GETNAME\nCONFIG GET maxmemory";
    assert_eq!(server.say(&mut one, "WATCH a"), "+OK");
    server.say(&mut two, "SET a 0");
    let replies = server.say(&mut one, &format!("{script}\n{behind}\nSELECT 3\nDBSIZE"));
    assert!(
        replies.ends_with("+QUEUED *-1 +PONG +OK $-1 *2 $9 maxmemory $1 0 +OK :0"),
        "{replies}"
    );
    assert!(!one.session.is_closing && two.session.client.is_cut().is_none());

    server.say(&mut one, "SELECT 0\nWATCH a");
    let replies = server.say(&mut one, &script.replace("CLIENT KILL ID 1 SKIPME no\n", ""));
    assert!(replies.contains(":1 +OK *2 $9 maxmemory $1 7 %7 "), "{replies}");
    assert!(two.session.client.is_cut().is_some());
    assert_eq!(server.shared.memory_max.get(), 7);
    server.shared.memory_max.set(0);
    assert_eq!(server.say(&mut one, "CLIENT GETNAME\nGET a"), "$2 me _");
}

#[test]
fn who_leaves_before_its_turn_is_over_does_all_of_a_transaction_or_nothing() {
    let mut server = Server::new(2);
    let (mut one, mut other) = (server.connect(), server.connect());
    // The key that pauses the turn lies on another shard than that of the transaction.
    let keys =
        ["a", "b", "c", "d"].map(|key| (key, one.session.shared.layout.route(key.as_bytes())));
    let (large, home) = (keys[0], keys.iter().find(|key| key.1 != keys[0].1).unwrap());
    server.say(&mut other, &format!("SET {} {}", large.0, "x".repeat(60_000)));
    let script = format!(
        "{}MULTI\nSET {} 1\nCONFIG SET maxmemory 1gb\nPUBLISH c m\nEXEC\n",
        format!("GET {}\n", large.0).repeat(40),
        home.0
    );
    one.input().extend_from_slice(script.as_bytes());
    one.parse();
    for (shard, job) in one.jobs().collect::<Vec<_>>() {
        server.run(shard, job, &mut one);
    }
    assert!(matches!(one.stitch(), Stitched::Paused(_)), "here the client may be found to be gone");
    let gets = server.say(&mut other, &format!("GET {}", home.0));
    assert_eq!((gets.as_str(), server.shared.memory_max.get()), ("$-1", 0));
}

#[test]
fn a_watched_key_that_stays_as_it_is_stops_nothing() {
    let mut server = Server::new(1);
    let (mut one, mut two) = (server.connect(), server.connect());
    server.say(&mut one, "SET a 1\nSADD s m");
    let nothing = ["DEL x a", "UNLINK x", "SADD s m", "MSETNX x 1 y 2", "EXPIRE x 1", "MSET a 2"];
    for line in nothing {
        assert_eq!(server.say(&mut one, "WATCH x s\nMULTI\nPING"), "+OK +OK +QUEUED");
        if line.starts_with("MSETNX") {
            server.say(&mut two, "SET y 1");
        }
        server.say(&mut two, line);
        assert_eq!(server.say(&mut one, "EXEC"), "*1 +PONG", "{line}");
    }
    let something = [
        "MSET y 1 x 1",
        "EXPIRE x 100",
        "PERSIST x",
        "APPEND x y",
        "SREM s m",
        "DEL y x",
        "SADD s n",
        "FLUSHALL",
    ];
    for line in something {
        assert_eq!(server.say(&mut one, "WATCH x s\nMULTI\nPING"), "+OK +OK +QUEUED");
        server.say(&mut two, line);
        assert_eq!(server.say(&mut one, "EXEC"), "*-1", "{line}");
    }
}

#[test]
fn a_watch_that_the_shard_has_lost_stops_the_transaction() {
    for far in [false, true] {
        let mut server = Server { far, ..Server::new(1) };
        let (mut one, mut two) = (server.connect(), server.connect());
        // As if the shard's node was started again, or had missed that of the client.
        let lose = |server: &mut Server| server.shards()[0].unwatch_node(0);
        server.say(&mut one, "WATCH a");
        lose(&mut server);
        server.say(&mut two, "SET a 1");
        let replies = server.say(&mut one, "MULTI\nSET a 2\nEXEC\nGET a");
        assert_eq!(replies, "+OK +QUEUED *-1 $1 1");
        // What it watches since then does not stand for what it has watched before.
        server.say(&mut one, "WATCH a");
        lose(&mut server);
        server.say(&mut two, "SET a 3");
        let replies = server.say(&mut one, "WATCH b c\nMULTI\nSET a 2\nEXEC\nGET a");
        assert_eq!(replies, "+OK +OK +QUEUED *-1 $1 3");
        assert_eq!(
            server.say(&mut one, "MULTI\nSET a 4\nEXEC\nWATCH a\nWATCH b\nMULTI\nSET a 5\nEXEC"),
            "+OK +QUEUED *1 +OK +OK +OK +OK +QUEUED *1 +OK"
        );
    }
}

#[test]
fn a_transaction_does_not_pause_for_the_numbers_of_shards() {
    let mut server = Server::new(2);
    let mut client = server.connect();
    // More numbers than replies a job makes at a time, and no key that says where to begin.
    let script = format!("MULTI\n{}PING\nEXEC\n", "INFO\n".repeat(20_000));
    let (replies, pauses) = server.feed(&mut client, script.as_bytes());
    assert_eq!(pauses, 0);
    assert!(replies.ends_with(b"<late>+PONG\r\n"));
}

#[test]
fn no_shard_keeps_the_watch_of_who_left_in_the_middle_of_a_turn() {
    for end in ["UNWATCH", "MULTI\nPING\nEXEC", "MULTI\nDISCARD", "MULTI\nEXEC 1"] {
        let mut server = Server::new(1);
        let (mut one, mut other) = (server.connect(), server.connect());
        server.say(&mut other, &format!("SET big {}", "x".repeat(60_000)));
        server.say(&mut one, "WATCH a");
        one.input().extend_from_slice(format!("{}{end}\n", "GET big\n".repeat(40)).as_bytes());
        one.parse();
        for (shard, job) in one.jobs().collect::<Vec<_>>() {
            server.run(shard, job, &mut one);
        }
        assert!(matches!(one.stitch(), Stitched::Paused(_)), "what ends the watch has not run");
        one.discard();
        server.leave(one);
        let watch = server.shards()[0].unwatch(WatchId { node: 0, client: 1 });
        assert_eq!(watch, None, "{end}");
    }
}

#[test]
fn a_watch_whose_end_did_not_arrive_is_ended_later() {
    let mut server = Server::new(1);
    let (mut one, mut two) = (server.connect(), server.connect());
    server.say(&mut one, "WATCH a");
    one.input().extend_from_slice(b"MULTI\nSET b 1\nEXEC\n");
    one.parse();
    for (shard, mut job) in one.jobs().collect::<Vec<_>>() {
        // As if the shard's node could not be reached.
        job.fail("ERR too large");
        one.put_back(shard, job);
    }
    assert!(matches!(one.stitch(), Stitched::Done));
    server.say(&mut two, "SET a 1");
    // Another watch has nothing to do with it.
    let replies = server.say(&mut one, "WATCH b\nMULTI\nSET b 2\nEXEC");
    assert!(replies.ends_with("+OK +OK +QUEUED *1 +OK"), "{replies}");

    server.say(&mut one, "WATCH a");
    one.input().extend_from_slice(b"UNWATCH\n");
    one.parse();
    for (shard, mut job) in one.jobs().collect::<Vec<_>>() {
        job.fail("ERR not now");
        one.put_back(shard, job);
    }
    assert!(matches!(one.stitch(), Stitched::Done));
    server.leave(one);
    let watch = server.shards()[0].unwatch(WatchId { node: 0, client: 1 });
    assert_eq!(watch, None);
}

#[test]
fn what_a_client_watches_is_held_for_it_as_long_as_it_does() {
    let mut server = Server::new(1);
    let mut one = server.connect();
    let (long, other) = ("x".repeat(100_000), "y".repeat(100_000));
    server.say(&mut one, &format!("WATCH {long}"));
    let held = one.session.held_bytes();
    // The shard has it twice.
    assert!((200_000..220_000).contains(&held), "{held}");
    server.say(&mut one, &format!("WATCH {long}\nWATCH {other} {long}"));
    let held = one.session.held_bytes();
    assert!((400_000..440_000).contains(&held), "{held}: a key is watched once");
    // Who ends a watch and begins the next at once has one.
    for round in 0..5 {
        server.say(&mut one, &format!("MULTI\nGET a\nEXEC\nWATCH {round}{long}"));
    }
    let held = one.session.held_bytes();
    assert!((200_000..220_000).contains(&held), "{held}");
    for end in ["UNWATCH", "MULTI\nDISCARD", "RESET", "MULTI\nPING\nEXEC"] {
        server.say(&mut one, end);
        assert_eq!(one.session.held_bytes(), 0, "{end}");
        server.say(&mut one, &format!("WATCH {long}"));
    }
    one.input().extend_from_slice(b"UNWATCH\n");
    one.parse();
    assert!(one.session.held_bytes() >= 200_000, "the shard has not heard of it");
}

#[test]
fn what_a_command_does_to_others_it_does_behind_those_before_it() {
    let mut server = Server::new(1);
    let (mut one, two) = (server.connect(), server.connect());
    let id = two.session.client.id;
    type IsDone<'a> = &'a dyn Fn(&Server) -> bool;
    let is_done: [(String, IsDone<'_>); 4] = [
        ("CONFIG SET maxmemory 1".to_owned(), &|server| server.shared.memory_max.get() == 1),
        ("CONFIG SET maxmemory-clients 5".to_owned(), &|server| {
            server.shared.budget.max.get() == 5
        }),
        (format!("CLIENT KILL ID {id}"), &|_| two.session.client.is_cut().is_some()),
        ("CLIENT NO-EVICT ON".to_owned(), &|server| server.shared.clients()[0].account.is_spared()),
    ];
    for (line, is_done) in is_done {
        one.input().extend_from_slice(format!("SET a 1\n{line}\nSET a 2\n").as_bytes());
        assert_eq!(one.parse(), 2, "{line}: what is behind sees it");
        assert!(!is_done(&server), "{line}");
        for (shard, job) in one.jobs().collect::<Vec<_>>() {
            server.run(shard, job, &mut one);
        }
        assert!(matches!(one.stitch(), Stitched::Done));
        assert!(is_done(&server), "{line}");
        server.feed(&mut one, b"");
    }
}

#[test]
fn who_is_to_be_spared_in_a_transaction_that_is_refused_is_not() {
    let mut server = Server::new(1);
    let (mut one, mut two) = (server.connect(), server.connect());
    for (change, is_spared) in [("SET a 1", false), ("PING", true)] {
        server.say(&mut one, "WATCH a");
        server.say(&mut two, change);
        server.say(&mut one, "MULTI\nCLIENT NO-EVICT ON\nGET a\nEXEC");
        assert_eq!(one.session.client.account.is_spared(), is_spared, "{change}");
    }
    // One that was refused before has nothing to do with what follows it.
    server.say(&mut one, "WATCH a");
    server.say(&mut two, "SET a 2");
    server.say(&mut one, "MULTI\nGET a\nEXEC\nCLIENT NO-EVICT OFF");
    assert!(!one.session.client.account.is_spared());
}
