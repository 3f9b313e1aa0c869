//! Whole conversations without a socket: bytes in, bytes out, shards and time in the test's hand.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::client::Client;
use super::conversation::Conversation;
use super::job::{Answer, Job};
use super::session::Session;
use super::shared::{Limits, Shared};
use super::stats::Cut;
use super::stitch::Stitched;
use super::store::{Place, Shard};

mod jobs;
mod transactions;

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

    /// Has the shards hear what they must when a client is gone.
    fn leave(&mut self, mut conversation: Conversation) {
        for (shard, job) in conversation.end() {
            self.run(shard, job, &mut conversation);
        }
    }

    /// Runs a job as another node does.
    fn carry(&mut self, shard: usize, job: &mut Job) {
        let parcel = postcard::to_allocvec(&job.pack(shard, 0, usize::MAX)).unwrap();
        let mut there = Job::unpack(postcard::from_bytes(&parcel).unwrap()).unwrap();
        there.run(&mut self.shards[shard]);
        let answer = postcard::to_allocvec(&there.into_answer()).unwrap();
        match postcard::from_bytes(&answer).unwrap() {
            Answer::Ran { ends, out } => job.accept(&ends, &out).unwrap(),
            Answer::Refused(why) | Answer::Unknown(why) => panic!("{why}"),
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
fn replies_that_no_shard_makes_come_a_part_at_a_time() {
    let mut server = Server::new(2);
    let mut client = server.connect();
    server.say(&mut client, &format!("CLIENT SETNAME {}", "x".repeat(100_000)));
    let script = "CLIENT GETNAME\n".repeat(400);
    client.input().extend_from_slice(script.as_bytes());
    client.parse();
    let held = client.held_bytes();
    assert!(client.has_more() && held < 3_000_000, "{held}");
    assert!(matches!(client.stitch(), Stitched::Done));
    let first = client.out().len();
    client.written();
    let (rest, _) = server.feed(&mut client, b"");
    assert_eq!(first + rest.len(), 400 * (100_000 + "$100000\r\n\r\n".len()));
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
fn a_client_that_gives_back_its_buffers_goes_on() {
    let mut server = Server::new(3);
    let mut client = server.connect();
    let script: String = (0..500).map(|n| format!("PING\nSET key{n} {n}\n")).collect();
    server.feed(&mut client, script.as_bytes());
    server.feed(&mut client, b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nab");
    assert!(client.held_bytes() > 20_000);
    client.shrink();
    assert!(client.held_bytes() < 500, "{}", client.held_bytes());
    let (replies, _) = server.feed(&mut client, b"cde\r\nGET a\r\n");
    assert_eq!(replies, b"+OK\r\n$5\r\nabcde\r\n");
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
fn what_redis_says_to_odd_words_is_said() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    let channels =
        "-ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.";
    assert_eq!(server.say(&mut client, "PUBSUB CHANNELS a b"), channels);
    let channels = channels.replace("CHANNELS", "channels");
    assert_eq!(server.say(&mut client, "PUBSUB channels a b"), channels);
    // A vertical tab is a blank before words and behind quotes, but parts none.
    assert_eq!(server.say(&mut client, "\x0b ECHO a\x0bb\x0cc"), "$5 a\x0bb\x0cc");
    assert_eq!(server.say(&mut client, "ECHO \"a\"\x0b"), "$1 a");
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
        "INCR n\r\nPING\r\nPOST / HTTP/1.1\r\nSET a 1\r\n",
    ] {
        let mut client = server.connect();
        assert_eq!(server.say(&mut client, request), "");
        assert_eq!((client.session.is_closing, client.cut), (true, Some(Cut::Protocol)));
    }
    let mut client = server.connect();
    assert_eq!(server.say(&mut client, "GET n\nGET a\nECHO POST"), "$1 1 $-1 $4 POST");
}

#[test]
fn memory_short_refuses_growth_and_transactions_that_grow() {
    let mut server = Server::new(1);
    let mut client = server.connect();
    server.say(&mut client, "SET a 1");
    server.shards()[0].set_limit(200);
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
fn a_transaction_runs_as_a_whole_if_there_is_room_for_all_of_it() {
    const OOM: &str = "OOM command not allowed when used memory > 'maxmemory'.";
    for far in [false, true] {
        let mut server = Server::new(1);
        server.far = far;
        let mut client = server.connect();
        let long = "x".repeat(600);
        let script = format!("MULTI\nSET a {long}\nSET b {long}\nSET c {long}\nEXEC\nSET d {long}");
        server.shards()[0].set_limit(1000);
        let replies = server.say(&mut client, &format!("{script}\nDBSIZE"));
        let refused = format!("-EXECABORT Transaction discarded because of: {OOM} +OK :1");
        assert!(replies.ends_with(&refused), "{replies}");
        server.say(&mut client, "DEL d");
        server.shards()[0].set_limit(2500);
        let replies = server.say(&mut client, &script);
        assert!(replies.ends_with(&format!("*3 +OK +OK +OK -{OOM}")), "{replies}");
    }
}

#[test]
fn who_leaves_gives_back_the_room_for_what_it_would_have_stored() {
    for limit in [100_000, 0] {
        let mut server = Server::new(4);
        let mut client = server.connect();
        server.shared.memory_max.set(limit);
        let long = "x".repeat(6_000);
        let mset = format!("MSET a {long} b {long} c {long} d {long}\n");
        client.input().extend_from_slice(mset.as_bytes());
        client.parse();
        let taken = server.shared.memory_used.get();
        assert_eq!((24_000..30_000).contains(&taken), limit > 0, "{taken}");
        drop(client);
        assert_eq!(server.shared.memory_used.get(), 0);
        // One that is refused keeps nothing either.
        let mut client = server.connect();
        server.shared.memory_max.set(20_000);
        assert!(server.say(&mut client, &mset).starts_with("-OOM "));
        assert_eq!(server.say(&mut client, "DBSIZE"), ":0");
        assert_eq!(server.shared.memory_used.get(), 0);
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
