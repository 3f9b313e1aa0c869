//! Whole conversations without a socket: bytes in, bytes out, shards and time in the test's hand.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::client::Client;
use super::command::find;
use super::conversation::Conversation;
use super::job::{Answer, Job, Task};
use super::resp::Proto;
use super::session::Session;
use super::shared::{Limits, Shared};
use super::stats::Cut;
use super::stitch::Stitched;
use super::store::{Place, Shard, WatchId};

/// A server without I/O.
pub(super) struct Server {
    shards: Vec<Shard>,
    shared: Arc<Shared>,
    pub(super) now: i64,
    /// Whether every job goes to its shard and comes back as it does between nodes.
    far: bool,
}

impl Server {
    pub(super) fn new(count: usize) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 6379));
        let shared = Shared::new(Limits::default(), address, count, 1, "none".to_owned());
        let shards = (0..count).map(|index| Shard::new(Place { index, count })).collect();
        Self { shards, shared: Arc::new(shared), now: 1_000_000, far: false }
    }

    pub(super) fn shards(&mut self) -> &mut [Shard] {
        &mut self.shards
    }

    pub(super) fn connect(&self) -> Conversation {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let events = mpsc::unbounded_channel().0;
        let client = self.shared.add_client(|id| Client::new(id, address, address, events));
        Conversation::new(Session::new(client, Arc::clone(&self.shared)))
    }

    fn run(&mut self, shard: usize, mut job: Box<Job>, conversation: &mut Conversation) {
        self.shards[shard].set_now(self.now);
        if self.far {
            self.carry(shard, &mut job);
        } else {
            job.run(&mut self.shards[shard]);
        }
        conversation.put_back(shard, job);
    }

    /// Runs a job as another node does.
    fn carry(&mut self, shard: usize, job: &mut Job) {
        let parcel = postcard::to_allocvec(&job.pack(shard, 0)).unwrap();
        let mut there = Job::unpack(postcard::from_bytes(&parcel).unwrap()).unwrap();
        there.run(&mut self.shards[shard]);
        let answer = postcard::to_allocvec(&there.into_answer()).unwrap();
        match postcard::from_bytes(&answer).unwrap() {
            Answer::Ran { ends, out } => job.accept(&ends, &out).unwrap(),
            Answer::Refused(why) => panic!("{why}"),
        }
    }

    /// Sends bytes and returns the replies, and how often a job paused.
    pub(super) fn feed(
        &mut self,
        conversation: &mut Conversation,
        bytes: &[u8],
    ) -> (Vec<u8>, usize) {
        conversation.input().extend_from_slice(bytes);
        let (mut replies, mut pauses) = (Vec::new(), 0);
        loop {
            conversation.parse();
            let jobs: Vec<_> = conversation.jobs().collect();
            for (shard, job) in jobs {
                self.run(shard, job, conversation);
            }
            loop {
                let stitched = conversation.stitch();
                replies.append(conversation.out());
                conversation.written();
                match stitched {
                    Stitched::Done => break,
                    Stitched::Late(..) => replies.extend_from_slice(b"<late>"),
                    Stitched::Paused(shard) => {
                        pauses += 1;
                        let job = conversation.job(shard).expect("the job is here");
                        self.run(shard, job, conversation);
                    }
                }
            }
            if !conversation.has_more() {
                return (replies, pauses);
            }
        }
    }

    /// Sends lines and returns the replies as text, line ends as blanks.
    pub(super) fn say(&mut self, conversation: &mut Conversation, lines: &str) -> String {
        let (replies, _) = self.feed(conversation, format!("{lines}\n").as_bytes());
        String::from_utf8_lossy(&replies).trim_end().replace("\r\n", " ")
    }
}

#[test]
fn replies_keep_the_order_of_commands_over_shards() {
    for shards in [1, 2, 7] {
        let mut server = Server::new(shards);
        let mut client = server.connect();
        let script: String =
            (0..300).map(|n| format!("SET key{n} {n}\nPING p{n}\nGET key{n}\n")).collect();
        let (replies, _) = server.feed(&mut client, script.as_bytes());
        let expected: String = (0..300)
            .map(|n| {
                format!(
                    "+OK\r\n${}\r\np{n}\r\n${}\r\n{n}\r\n",
                    format!("p{n}").len(),
                    n.to_string().len()
                )
            })
            .collect();
        assert_eq!(String::from_utf8_lossy(&replies), expected, "{shards} shards");
    }
}

#[test]
fn many_keys_answer_as_one_over_shards() {
    for shards in [1, 3, 8] {
        let mut server = Server::new(shards);
        let mut client = server.connect();
        assert_eq!(server.say(&mut client, "MSET a 1 b 2 c 3 d 4 e 5 a 6"), "+OK");
        assert_eq!(
            server.say(&mut client, "MGET e nope a b e"),
            "*5 $1 5 $-1 $1 6 $1 2 $1 5",
            "{shards} shards"
        );
        assert_eq!(server.say(&mut client, "EXISTS a a b x"), ":3");
        assert_eq!(server.say(&mut client, "DBSIZE"), ":5");
        assert_eq!(server.say(&mut client, "DEL a b x c"), ":3");
        assert_eq!(
            server.say(&mut client, "MSET a 1 b"),
            "-ERR wrong number of arguments for 'mset' command"
        );
        assert_eq!(server.say(&mut client, "FLUSHALL\nDBSIZE\nRANDOMKEY"), "+OK :0 $-1");
        assert_eq!(
            server
                .say(&mut client, "HELLO 3\nMGET a b")
                .split_once("*0 ")
                .map(|(_, values)| values.to_owned()),
            Some("*2 _ _".to_owned())
        );
    }
}

#[test]
fn any_key_may_be_the_random_one() {
    let mut server = Server::new(4);
    let mut client = server.connect();
    let keys: BTreeSet<String> = (0..20).map(|n| format!("{n:03}")).collect();
    keys.iter().for_each(|key| assert_eq!(server.say(&mut client, &format!("SET {key} x")), "+OK"));
    let seen: BTreeSet<String> =
        (0..2000).map(|_| server.say(&mut client, "RANDOMKEY")[3..].to_owned()).collect();
    // Some are rare, but one shard has far fewer than these.
    assert!(seen.is_subset(&keys) && seen.len() >= 12, "{seen:?}");
}

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
fn one_client_cannot_make_a_shard_hold_more_than_it_reads() {
    let mut server = Server::new(2);
    let mut client = server.connect();
    let (_, _) =
        server.feed(&mut client, &[b"SET big ".as_slice(), &[b'x'; 60_000], b"\n"].concat());
    let script = "GET big\n".repeat(400);
    let (replies, pauses) = server.feed(&mut client, script.as_bytes());
    assert_eq!(replies.len(), 400 * (60_000 + "$60000\r\n\r\n".len()));
    assert!(pauses >= 20, "{pauses} pauses");
}

#[test]
fn idle_clients_keep_little_of_what_they_once_needed() {
    for shards in [1, 40] {
        let mut server = Server::new(shards);
        let mut client = server.connect();
        let value = "x".repeat(100_000);
        let many: String = (0..20_000).map(|n| format!(" key{n} {n}")).collect();
        let scripts = [
            (0..100).map(|n| format!("SET key{n} {value}\n")).collect(),
            (0..100).map(|n| format!("GET key{n}\n")).collect(),
            (0..20_000).map(|n| format!("PING\nGET key{n}\n")).collect(),
            ["MULTI\n", &format!("SET key {value}\n").repeat(50), "EXEC\n"].concat(),
            "PUBSUB NUMSUB\n".repeat(5000),
            format!("MSET{}\n", &many[..60_000]),
            "DBSIZE\n".repeat(1000),
            String::from("PI"),
        ];
        for script in scripts {
            server.feed(&mut client, script.as_bytes());
            let held = client.held_bytes();
            assert!(held < 256 * 1024, "{held} bytes over {shards} shards: {script:.20}");
        }
    }
}

#[test]
fn subscribing_narrows_what_resp2_may_do() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    assert_eq!(
        server.say(&mut client, "SUBSCRIBE a b"),
        "<late>*3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2"
    );
    assert_eq!(server.say(&mut client, "PING"), "*2 $4 pong $0");
    assert!(
        server
            .say(&mut client, "GET a")
            .starts_with("-ERR Can't execute 'get': only (P|S)SUBSCRIBE")
    );
    assert_eq!(
        server.say(&mut client, "UNSUBSCRIBE"),
        "<late>*3 $11 unsubscribe $1 a :1 *3 $11 unsubscribe $1 b :0"
    );
    assert_eq!(server.say(&mut client, "UNSUBSCRIBE"), "*3 $11 unsubscribe $-1 :0");
    assert_eq!(server.say(&mut client, "GET a"), "$-1");
}

#[test]
fn quit_and_errors_end_the_conversation() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    assert_eq!(server.say(&mut client, "QUIT\nPING"), "+OK");
    assert!(client.session.is_closing);
    let mut client = server.connect();
    assert_eq!(server.say(&mut client, "*1\r\n:1\r"), "-ERR Protocol error: expected '$', got ':'");
    assert!(client.session.is_closing && client.cut.is_some());
}

#[test]
fn web_pages_drive_nothing() {
    let mut server = Server::new(1);
    for request in [
        "POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET a 1\r\n",
        "GET / HTTP/1.1\r\nhost: localhost\r\n\r\nSET a 1\r\n",
        "*1\r\n$4\r\npost\r\nSET a 1",
    ] {
        let mut client = server.connect();
        let reply = server.say(&mut client, request);
        assert!(!reply.contains("+OK"), "{reply}");
        assert_eq!((client.session.is_closing, client.cut), (true, Some(Cut::Protocol)));
    }
    let mut client = server.connect();
    assert_eq!(server.say(&mut client, "GET a\nECHO POST"), "$-1 $4 POST");
}

#[test]
fn memory_short_refuses_growth_and_transactions_that_grow() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    server.say(&mut client, "SET a 1");
    server.shards()[0].set_limit(1);
    assert_eq!(
        server.say(&mut client, "SET b 1"),
        "-OOM command not allowed when used memory > 'maxmemory'."
    );
    assert_eq!(server.say(&mut client, "GET a"), "$1 1");
    assert!(server.say(&mut client, "MULTI\nSET b 1\nGET a\nEXEC").ends_with(
        "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'."
    ));
    assert_eq!(server.say(&mut client, "DEL a\nSET b 1"), ":1 +OK");
}

#[test]
fn a_transaction_that_begins_with_memory_left_runs_as_a_whole() {
    for far in [false, true] {
        let mut server = Server::new(1);
        server.far = far;
        let mut client = server.connect();
        server.shards()[0].set_limit(1000);
        let long = "x".repeat(600);
        let script = format!("MULTI\nSET a {long}\nSET b {long}\nSET c {long}\nEXEC\nSET d 1");
        assert!(
            server.say(&mut client, &script).ends_with(
                "*3 +OK +OK +OK -OOM command not allowed when used memory > 'maxmemory'."
            )
        );
    }
}

#[test]
fn what_waits_in_transactions_counts_as_memory() {
    const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";
    let mut server = Server::new(1);
    let (mut one, mut two) = (server.connect(), server.connect());
    server.shared.memory_max.set(10_000);
    let long = "x".repeat(6_000);
    let set = format!("SET a {long}");
    assert_eq!(
        server.say(&mut one, &format!("MULTI\n{set}\n{set}\nPING")),
        format!("+OK +QUEUED {OOM} +QUEUED")
    );
    assert_eq!(server.shared.queued.get(), 0, "what will not run takes no memory");
    assert!(server.say(&mut one, "EXEC").starts_with("-EXECABORT"));
    assert_eq!(server.say(&mut one, &format!("MULTI\n{set}")), "+OK +QUEUED");
    assert_eq!(server.say(&mut two, &format!("MULTI\n{set}")), format!("+OK {OOM}"));
    assert_eq!(server.say(&mut one, "EXEC"), "*1 +OK");
    assert_eq!(server.say(&mut two, &format!("DISCARD\nMULTI\n{set}")), "+OK +OK +QUEUED");
    drop(two);
    assert_eq!(server.shared.queued.get(), 0);
}

#[test]
fn shards_of_other_nodes_answer_as_those_here() {
    let big = "x".repeat(60_000);
    let lines = [
        "MSET a 1 b 2 c 3 d 4 e 5 a 6",
        "MGET e nope a b e",
        "EXISTS a a b x\nDBSIZE\nDEL a b x c\nNOPE\nGET",
        "MULTI\nSET {u}a 1\nPING\nINCR {u}a\nINCR {u}a x\nEXEC",
        "WATCH {u}a\nSET {u}a 7\nMULTI\nINCR {u}a\nEXEC\nGET {u}a",
        "WATCH {u}a\nUNWATCH\nMULTI\nINCR {u}a\nEXEC",
        "LPUSH l 1 2 3\nLRANGE l 0 -1\nINCR l\nHSET h f v\nHELLO 3\nHGETALL h\nGET nope",
        "SET late 1 PX 10\nSELECT 3\nSET late 2\nGET late\nSELECT 0\nINFO keyspace",
        &format!("SET big {big}"),
        &"GET big\n".repeat(100),
        "SCAN 0 COUNT 1000\nFLUSHALL\nDBSIZE\nRANDOMKEY\nKEYS *",
    ];
    for shards in [1, 2, 5] {
        let (mut near, mut far) = (Server::new(shards), Server::new(shards));
        far.far = true;
        let (mut one, mut other) = (near.connect(), far.connect());
        for line in lines {
            assert_eq!(near.say(&mut one, line), far.say(&mut other, line), "{shards}: {line}");
            (near.now, far.now) = (near.now + 7, far.now + 7);
        }
    }
}

/// A job of each kind of step.
fn job() -> Job {
    let mut job = Job::new(WatchId { node: 1, client: 1 });
    let words = |words: &'static [&'static str]| words.iter().map(|word| word.as_bytes());
    let run = |name: &str| Task::Run(find(name.as_bytes()).unwrap());
    job.push(run("set"), 0, Proto::Resp2, words(&["SET", "k", "v"]));
    job.push(Task::Numbers, 0, Proto::Resp2, words(&[]));
    job.push(Task::Watch, 0, Proto::Resp2, words(&["WATCH", "k"]));
    job.push(Task::Begin { replies: 2, steps: 2 }, 0, Proto::Resp2, words(&[]));
    job.push(run("get"), 15, Proto::Resp3, words(&["GET", "k"]));
    job.push(run("mset"), 0, Proto::Resp2, words(&["MSET", "k", "v"]));
    job.push(run("get"), 0, Proto::Resp2, words(&["GET", "k"]));
    job
}

#[test]
fn a_job_that_gets_nowhere_answers_each_command_once() {
    let mut job = job();
    job.push(Task::Unwatch, 0, Proto::Resp2, std::iter::empty());
    job.fail("CLUSTERDOWN gone");
    let error = b"-CLUSTERDOWN gone\r\n".as_slice();
    let replies: Vec<Vec<u8>> = std::iter::from_fn(|| job.take().map(<[u8]>::to_vec)).collect();
    // The steps of a transaction are answered with it.
    assert_eq!(replies, [error, b"", error, error, b"", b"", error, b""]);
}

#[test]
fn parcels_and_answers_that_are_none_are_refused_as_a_whole() {
    let bytes = postcard::to_allocvec(&job().pack(0, 0)).unwrap();
    let mut shard = Shard::new(Place { index: 0, count: 1 });
    let mut refused = 0;
    for at in 0..bytes.len() {
        for value in [0, 1, bytes[at].wrapping_add(1), 0x7F, 0xFF] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let Ok(parcel) = postcard::from_bytes(&changed) else { continue };
            match Job::unpack(parcel) {
                // Whatever it has become, it is one that a shard can run.
                Ok(mut job) => {
                    while !job.is_done() {
                        job.run(&mut shard);
                    }
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 10, "{refused}");

    let wrong: [(&[u32], &[u8]); 5] =
        [(&[], b""), (&[2], b"x"), (&[2, 1, 3], b"xxx"), (&[1; 8], b"x"), (&[], b"x")];
    for (ends, out) in wrong {
        assert!(job().accept(ends, out).is_err(), "{ends:?}");
    }
    assert!(job().accept(&[0, 3], b"xxx").is_ok());
}
