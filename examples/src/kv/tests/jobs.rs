//! Jobs for shards of other nodes, and for none.

use super::Server;
use crate::kv::command::find;
use crate::kv::job::{Answer, Job, Task};
use crate::kv::resp::Proto;
use crate::kv::store::{Place, Shard, WatchId};

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

#[test]
fn the_words_of_a_command_for_all_shards_are_there_once() {
    let server = Server::new(40);
    let mut client = server.connect();
    let pattern = "x".repeat(1_000_000);
    client.input().extend_from_slice(format!("KEYS {pattern}\n").as_bytes());
    client.parse();
    let held = client.busy_bytes();
    assert!((1_000_000..3_500_000).contains(&held), "{held}");
    for far in [false, true] {
        let mut server = Server { far, ..Server::new(3) };
        let mut client = server.connect();
        server.say(&mut client, "MSET a 1 b 2 c 3 d 4");
        let script = "KEYS a*\nKEYS [b]\nFLUSHALL NOW\nKEYS c\nDBSIZE\nFLUSHALL SYNC\nKEYS *";
        let replies = server.say(&mut client, script);
        assert_eq!(replies, "*1 $1 a *1 $1 b -ERR syntax error *1 $1 c :4 +OK *0");
    }
}

/// A job of each kind of step.
fn job() -> Job {
    let mut job = Job::new(WatchId { node: 1, client: 1 });
    let words = |words: &'static [&'static str]| words.iter().map(|word| word.as_bytes());
    let run = |name: &str| Task::Run(find(name.as_bytes()).unwrap());
    job.push(run("set"), 0, Proto::Resp2, words(&["SET", "k", "v"]));
    job.push(Task::Numbers, 0, Proto::Resp2, words(&[]));
    job.push(Task::Watch { again: false }, 0, Proto::Resp2, words(&["WATCH", "k"]));
    job.push(Task::Begin { replies: 2, steps: 2, watches: true }, 0, Proto::Resp2, words(&[]));
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
fn a_job_goes_to_another_node_in_as_many_parcels_as_it_takes() {
    let long = vec![b'x'; 1000];
    let set = Task::Run(find(b"set").unwrap());
    let sets = |job: &mut Job, count: usize| {
        for _ in 0..count {
            job.push(set, 0, Proto::Resp2, [b"SET", &b"k"[..], &long].into_iter());
        }
    };
    let mut job = Job::new(WatchId { node: 1, client: 1 });
    sets(&mut job, 3);
    job.push(Task::Numbers, 0, Proto::Resp2, std::iter::empty());
    job.push(Task::Begin { replies: 2, steps: 2, watches: false }, 0, Proto::Resp2, [].into_iter());
    sets(&mut job, 2);
    sets(&mut job, 1);
    assert_eq!(job.fitting(usize::MAX), 8);
    // Numbers may be for a reply that is not to be parted, and a transaction is one thing to do.
    for (bytes_max, fits) in [(9000, 8), (5800, 7), (5500, 4), (3300, 2), (1500, 1), (500, 0)] {
        assert_eq!(job.fitting(bytes_max), fits, "{bytes_max}");
    }
    let mut shard = Shard::new(Place { index: 0, count: 1 });
    let mut replies = Vec::new();
    while !job.is_done() {
        let fits = job.fitting(2000);
        if fits == 0 {
            job.fail_first("ERR too large");
        } else {
            let mut there = Job::unpack(job.pack(0, 0, fits)).unwrap();
            there.run(&mut shard);
            let Answer::Ran { ends, out } = there.into_answer() else { panic!("it has run") };
            job.accept(&ends, &out).unwrap();
        }
    }
    while let Some(reply) = job.take() {
        replies.push(String::from_utf8_lossy(reply.get(..1).unwrap_or_default()).into_owned());
    }
    assert_eq!(replies, ["+", "+", "+", "1", "-", "", "", "+"]);
}

#[test]
fn a_transaction_of_more_steps_than_there_are_is_refused() {
    let begin = |steps: u32| {
        let mut job = Job::new(WatchId { node: 1, client: 1 });
        let begin = Task::Begin { replies: 1, steps, watches: true };
        job.push(begin, 0, Proto::Resp2, std::iter::empty());
        job.push(Task::Numbers, 0, Proto::Resp2, std::iter::empty());
        Job::unpack(job.pack(0, 0, usize::MAX)).is_ok()
    };
    // A shard that refuses it would answer each of them.
    assert_eq!([0, 1, 2, u32::MAX].map(begin), [true, true, false, false]);
}

#[test]
fn parcels_and_answers_that_are_none_are_refused_as_a_whole() {
    let bytes = postcard::to_allocvec(&job().pack(0, 0, usize::MAX)).unwrap();
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
