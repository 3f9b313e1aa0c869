//! Workers: tokio inside handlers, and each worker a thread.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod fairness;
mod queues;
mod settings;
mod spinning;

use crate::support::{Builds, LONG, everywhere, on, poll_once, run, soon, until};
use greenroom::{Actor, Context, Ref, Scheduler, System, handlers};
use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, oneshot};

/// Does what tokio offers, in its handlers.
#[derive(Actor)]
struct Host;

#[handlers]
impl Host {
    /// Listens, and answers one connection with what it sends.
    #[ask]
    async fn listen(&mut self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut from, mut to) = stream.split();
            tokio::io::copy(&mut from, &mut to).await.unwrap();
        });
        port
    }
    #[ask]
    async fn connect(&mut self, port: u16, text: String) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut back = String::new();
        stream.read_to_string(&mut back).await.unwrap();
        back
    }
    #[ask]
    async fn sleep(&mut self, time: Duration) -> Duration {
        let begun = tokio::time::Instant::now();
        tokio::time::sleep(time).await;
        begun.elapsed()
    }
    #[ask]
    async fn spawn_inside(&mut self, number: u64) -> u64 {
        tokio::spawn(async move { number + 1 }).await.unwrap()
    }
    /// The names of the threads that the handler and its blocking work ran on.
    #[ask]
    async fn block(&mut self, cx: &mut Context<Self>) -> [String; 2] {
        let name = || thread::current().name().unwrap_or_default().to_owned();
        let other = cx.blocking(move || thread::current().id()).await;
        assert_ne!(other, thread::current().id());
        [name(), cx.blocking(name).await]
    }
    #[ask]
    async fn block_and_panic(&mut self, cx: &mut Context<Self>) {
        cx.blocking(|| panic!("as asked")).await;
    }
    /// Lets a thread block until it is told to go on.
    #[ask]
    async fn block_until(&mut self, told: oneshot::Receiver<()>, cx: &mut Context<Self>) {
        cx.blocking(move || told.blocking_recv().unwrap()).await;
    }
    /// Has tokio run a task that keeps the thread until it is told to go on.
    #[tell]
    fn keep_thread(&mut self, begins: oneshot::Sender<()>, until: mpsc::Receiver<()>) {
        tokio::spawn(async move {
            let _ = begins.send(());
            let _ = until.recv();
        });
    }
    /// The thread it runs on, once as many as the barrier wants are there, each on its own thread.
    #[ask]
    fn meet(&mut self, barrier: Arc<std::sync::Barrier>) -> String {
        barrier.wait();
        thread::current().name().unwrap_or_default().to_owned()
    }
    /// As `meet`, without holding its thread.
    #[ask]
    async fn meet_later(&mut self, barrier: Arc<Barrier>) {
        barrier.wait().await;
    }
}

async fn host(system: &System) -> Ref<Host> {
    system.spawn::<Host>(Host).await.unwrap()
}

#[test]
fn handlers_use_sockets_timers_tasks_and_threads() {
    everywhere(async |system| {
        let (server, client) = (host(system).await, host(system).await);
        let port = server.listen().await.unwrap();
        let echo = client.connect(port, "hello".repeat(10_000)).within(LONG).await.unwrap();
        assert_eq!(echo, "hello".repeat(10_000));
        let time = Duration::from_millis(5);
        assert!(client.sleep(time).within(LONG).await.unwrap() >= time);
        assert_eq!(client.spawn_inside(4).await, Ok(5));
        let [worker, other] = client.block().await.unwrap();
        assert!(worker.starts_with("greenroom-"), "{worker}");
        assert_ne!(worker, other);
        assert!(client.block_and_panic().await.is_err());
        soon(client.ended()).await;
    });
}

#[test]
fn what_blocks_is_left_until_it_is_over() {
    everywhere(async |system| {
        let is_left = || system.leftovers().contains(&"1 tasks".to_owned());
        let host = host(system).await;
        let (go_on, told) = oneshot::channel();
        let mut asked = Box::pin(async { host.block_until(told).within(LONG).await });
        assert!(poll_once(&mut asked).is_pending());
        until(is_left).await;
        host.kill();
        soon(host.ended()).await;
        assert!(is_left(), "nothing ends a call that blocks");
        go_on.send(()).unwrap();
        until(|| !is_left()).await;
        assert!(asked.await.is_err());
    });
}

#[test]
fn handlers_that_wait_for_each_other_share_one_worker() {
    on(1, Scheduler::locked(), async |system| {
        const HOSTS: usize = 50;
        let barrier = Arc::new(Barrier::new(HOSTS));
        let mut asking = Vec::new();
        for _ in 0..HOSTS {
            let (host, barrier) = (host(system).await, Arc::clone(&barrier));
            asking.push(tokio::spawn(async move { host.meet_later(barrier).within(LONG).await }));
        }
        for asked in asking {
            assert_eq!(soon(asked).await.unwrap(), Ok(()));
        }
    });
}

#[test]
fn each_worker_is_a_thread_with_the_given_name() {
    for pinned in [false, true] {
        run(async {
            let system = System::builder().workers(3).thread_name("w").pinned(pinned).own();
            // All three must run at the same time to get past the barrier.
            let barrier = Arc::new(std::sync::Barrier::new(3));
            let mut asking = Vec::new();
            for _ in 0..3 {
                let (host, barrier) = (host(&system).await, Arc::clone(&barrier));
                asking.push(tokio::spawn(async move { host.meet(barrier).within(LONG).await }));
            }
            let mut names = BTreeSet::new();
            for asked in asking {
                names.insert(soon(asked).await.unwrap().unwrap());
            }
            assert_eq!(names.into_iter().collect::<Vec<_>>(), ["w-0", "w-1", "w-2"]);
            system.shutdown(LONG).await.unwrap();
        });
    }
}
