//! What a connection asks of its socket, and turns of one whose client is cut off meanwhile.

use std::collections::BTreeSet;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use greenroom::System;
use greenroom_transports::config::Peer;
use greenroom_transports::secure::key::PublicKey;
use socket2::SockRef;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use super::write::PIECE_BYTES;
use super::{Arrival, Connection, KEEPALIVE, UNPAUSED_MAX};
use crate::kv::backend::{Backend, Home};
use crate::kv::broker::Broker;
use crate::kv::cluster::Neighbour;
use crate::kv::session::Replies;
use crate::kv::shard_actor::ShardActor;
use crate::kv::shared::{Limits, Shared};
use crate::kv::stats::Cut;

/// Returns a client that has just come, and its end of the connection.
async fn arrive(shared: &Arc<Shared>) -> (Arrival, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    (Arrival::new(accepted.unwrap().0, shared).unwrap(), client.unwrap())
}

fn shared(limits: Limits) -> Arc<Shared> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 6379));
    Arc::new(Shared::new(limits, address, 1, 1, "none".to_owned()))
}

/// A server whose connections are in the test's hand.
struct Server {
    system: System,
    backend: Backend,
}

impl Server {
    async fn start(limits: Limits) -> Self {
        let system = System::builder().workers(1).build().unwrap();
        let shared = shared(limits);
        let shard = system.spawn::<ShardActor>((0, Arc::clone(&shared), None)).named("shard");
        let shards = Arc::new([Home::Here(shard.await.unwrap())]);
        let broker = system.spawn::<Broker>(Arc::clone(&shared)).named("broker").await.unwrap();
        Self { system, backend: Backend { shared, shards, broker } }
    }

    async fn connect(&self) -> (Connection, TcpStream) {
        let (arrival, stream) = arrive(&self.backend.shared).await;
        (Connection::new(arrival, self.backend.clone()), stream)
    }

    async fn stop(self) {
        self.system.shutdown(std::time::Duration::from_secs(30)).await.unwrap();
    }
}

/// Takes lines into a turn, which is not run.
fn plan(connection: &mut Connection, lines: &str) {
    connection.conversation.input().extend_from_slice(lines.as_bytes());
    connection.conversation.parse();
}

#[tokio::test]
async fn a_transaction_of_who_is_killed_within_it_is_done_as_a_whole() {
    let server = Server::start(Limits::default()).await;
    let (mut ear, _ear) = server.connect().await;
    plan(&mut ear, "SUBSCRIBE news\n");
    ear.turn().await.unwrap();
    let (mut one, _one) = server.connect().await;
    plan(
        &mut one,
        "MULTI\nSET a 1\nSUBSCRIBE c\nUNSUBSCRIBE c\nPUBLISH news x\nCONFIG SET maxmemory 1gb\nEXEC\n",
    );
    one.conversation.session.client.cut(Cut::Killed);
    one.turn().await.unwrap();
    assert_eq!(one.look_up().await, Err(Cut::Killed));
    assert!(server.backend.shared.memory_max.get() > 0, "the setting is set");
    assert!(ear.events.try_recv().is_ok(), "the message is sent");
    server.stop().await;
}

#[tokio::test]
async fn messages_taken_within_a_transaction_count_as_waiting() {
    let limit = 100_000;
    let server = Server::start(Limits { listener_bytes_max: limit, ..Limits::default() }).await;
    for (count, cut) in [(9, None), (20, Some(Cut::SlowListener))] {
        let (mut one, _one) = server.connect().await;
        plan(&mut one, "HELLO 3\nSUBSCRIBE news\n");
        one.turn().await.unwrap();
        let each = format!("PUBLISH news {}\nSUBSCRIBE c\nUNSUBSCRIBE c\n", "x".repeat(limit / 10));
        plan(&mut one, &format!("MULTI\n{}EXEC\nUNSUBSCRIBE\n", each.repeat(count)));
        assert_eq!(one.turn().await, cut.map_or(Ok(()), Err), "{count} messages");
        let client = &one.conversation.session.client;
        assert_eq!(client.is_cut(), cut, "{count} messages");
        if cut.is_none() {
            assert_eq!(client.account.waiting(), 0);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn what_begins_within_a_transaction_is_heard_behind_it_or_not_at_all() {
    let server = Server::start(Limits::default()).await;
    for (hello, push) in [("", '*'), ("HELLO 3\n", '>')] {
        let (mut one, mut stream) = server.connect().await;
        plan(&mut one, hello);
        one.turn().await.unwrap();
        let script =
            "MULTI\nSUBSCRIBE a\nPSUBSCRIBE b*\nPUBLISH a x\nPUBLISH bc y\nUNSUBSCRIBE a\nEXEC\n";
        plan(&mut one, script);
        one.turn().await.unwrap();
        one.leave().await;
        drop(one);
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        let (_, reply) = heard.split_once("*5\r\n").unwrap();
        let push = |words: &str| format!("{push}{words}").replace(' ', "\r\n");
        let expected = [
            push("3 $9 subscribe $1 a :1 "),
            push("3 $10 psubscribe $2 b* :2 "),
            ":1\r\n:1\r\n".to_owned(),
            push("3 $11 unsubscribe $1 a :1 "),
            push("4 $8 pmessage $2 b* $2 bc $1 y "),
        ];
        assert_eq!(reply, expected.concat());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_long_reply_is_written_in_pieces_between_which_others_have_their_turn() {
    let server = Server::start(Limits::default()).await;
    let (mut one, mut stream) = server.connect().await;
    one.conversation.out().resize(1 << 20, b'x');
    {
        let mut write = pin!(one.write());
        let mut cx = std::task::Context::from_waker(Waker::noop());
        assert!(write.as_mut().poll(&mut cx).is_pending());
    }
    assert!(one.conversation.session.client.account.total() >= 1 << 20, "it is counted meanwhile");
    drop(one);
    let mut piece = Vec::new();
    stream.read_to_end(&mut piece).await.unwrap();
    assert!((1..=PIECE_BYTES).contains(&piece.len()), "{}", piece.len());
    server.stop().await;
}

#[tokio::test]
async fn answers_of_the_broker_are_written_before_there_are_more() {
    let server = Server::start(Limits::default()).await;
    let (mut ear, mut heard) = server.connect().await;
    tokio::spawn(
        async move { while heard.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {} },
    );
    let names: Vec<_> = (0..256).map(|name| format!("{name:01000}")).collect();
    plan(&mut ear, &format!("SUBSCRIBE {}\n", names.join(" ")));
    ear.turn().await.unwrap();

    let (each, count) = ("*256\r\n".len() + 256 * (1000 + "$1000\r\n\r\n".len()), 100);
    let (mut one, mut stream) = server.connect().await;
    plan(&mut one, &"PUBSUB CHANNELS\n".repeat(count));
    let client = Arc::clone(&one.conversation.session.client);
    let read = async {
        let (mut piece, mut came, mut held_max) = (vec![0; 1 << 16], 0, 0);
        while came < count * each {
            came += stream.read(&mut piece).await.unwrap();
            held_max = held_max.max(client.account.total());
        }
        held_max
    };
    let (turned, held_max) = tokio::join!(one.turn(), read);
    turned.unwrap();
    assert!(held_max < 4 * each as u64, "{held_max}");

    let (mut deaf, mut stream) = server.connect().await;
    let asks = "PUBSUB CHANNELS\n".repeat(3);
    plan(&mut deaf, &format!("CLIENT REPLY OFF\n{asks}CLIENT REPLY ON\n"));
    deaf.turn().await.unwrap();
    drop(deaf);
    let mut replies = String::new();
    stream.read_to_string(&mut replies).await.unwrap();
    assert_eq!(replies, "+OK\r\n");
    server.stop().await;
}

/// Whether a waker was woken.
#[derive(Debug, Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends as much of `text` as the kernel takes, which the connection then has before it; returns how much that is.
async fn send(text: &str, stream: &TcpStream, connection: &Connection) -> usize {
    let mut sent = 0;
    while let Ok(count) = stream.try_write(&text.as_bytes()[sent..])
        && count > 0
    {
        sent += count;
    }
    connection.stream.readable().await.unwrap();
    sent
}

/// Lets a connection go on until it first lets others go; returns whether it only lets them go first.
fn converse_once(connection: &mut Connection) -> bool {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut converse = pin!(connection.converse());
    assert!(converse.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    woken.0.load(Ordering::Relaxed)
}

#[tokio::test]
async fn who_sends_without_a_pause_and_is_told_nothing_lets_others_have_their_turn() {
    let mut server = Server::start(Limits::default()).await;
    let peer = Peer { name: None, key: PublicKey([7; 32]), address: None, roles: BTreeSet::new() };
    // It has not been reached.
    server.backend.shards = Arc::new([Home::There(Arc::new(Neighbour::new(&peer, 0)))]);
    for (script, commands) in [("PING\n", 1), ("GET a\n", 1), ("MULTI\nPING\nEXEC\n", 3)] {
        let (mut one, stream) = server.connect().await;
        one.conversation.session.replies = Replies::None;
        let sent = send(&script.repeat(1 << 16), &stream, &one).await;
        assert!(converse_once(&mut one), "{script}");
        let done = one.conversation.session.client.shown.lock().traffic.commands;
        let all = (sent / script.len() * commands) as u64;
        assert!(done > 0 && done < all / 2, "{script}: {done} of {all}");
    }
    server.stop().await;
}

#[tokio::test]
async fn others_have_their_turn_while_a_long_command_comes() {
    let server = Server::start(Limits::default()).await;
    let (mut one, stream) = server.connect().await;
    one.unpaused = UNPAUSED_MAX - 1;
    send("*2\r\n$4\r\nECHO\r\n$1000000\r\nx", &stream, &one).await;
    assert!(converse_once(&mut one));
    // They have it also while it waits.
    one.unpaused = UNPAUSED_MAX - 1;
    assert!(!converse_once(&mut one));
    send("x", &stream, &one).await;
    assert!(!converse_once(&mut one));
    server.stop().await;
}

#[tokio::test]
async fn the_kernel_looks_after_silent_clients() {
    let (arrival, client) = arrive(&shared(Limits::default())).await;
    let socket = SockRef::from(&arrival.stream);
    assert!(socket.keepalive().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE);
    drop(client);
}
