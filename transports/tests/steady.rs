//! Messages between nodes that are warm take no memory of the allocator's. [ENV-17]
//!
//! The count is of the whole process, so this binary has one test.

#![cfg(not(sanitized))]
#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

#[path = "../../runtime/tests/support/mod.rs"]
mod support;

use greenroom::net::{Export, Node};
use greenroom::{Actor, Ref, System, handlers};
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::udp::{Settings, Udp};
use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::{Builds, OwnSystem};

/// Passes everything on to the system's allocator, and counts it.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on as it is. `realloc` and `alloc_zeroed` are the default ones, which
// come here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Heap.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Longer than the test takes.
const LONG: Duration = Duration::from_secs(100);

/// Messages in each measured run.
const MESSAGES: usize = 8_000;

/// Measured runs until one is warm.
const ROUNDS_MAX: usize = 12;

#[derive(Actor)]
struct Echo;

#[handlers(wire = "test.echo/1")]
impl Echo {
    #[ask]
    fn echo(&self, bytes: [u64; 8]) -> [u64; 8] {
        bytes
    }
    #[tell]
    fn take(&mut self, _bytes: [u64; 8]) {}
    #[ask]
    fn take_long(&self, _bytes: Vec<u8>) {}
}

/// Sends from inside of its system, as actors do.
#[derive(Actor)]
struct Sender {
    echo: Ref<Echo>,
}

#[handlers]
impl Sender {
    /// Allocations while so many messages are told.
    #[ask]
    async fn tell_all(&mut self, count: usize) -> usize {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        for _ in 0..count {
            self.echo.take([7; 8]).await.unwrap();
        }
        self.echo.echo([7; 8]).within(LONG).await.unwrap();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    }
    /// Allocations while so many questions are answered, one after the other.
    #[ask]
    async fn ask_all(&mut self, count: usize) -> usize {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        for _ in 0..count {
            self.echo.echo([7; 8]).within(LONG).await.unwrap();
        }
        ALLOCATIONS.load(Ordering::SeqCst) - before
    }
    /// As [`Sender::ask_all`], long questions, but for what their own bytes take at either end.
    #[ask]
    async fn ask_all_long(&mut self, count: usize) -> usize {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        for _ in 0..count {
            self.echo.take_long(vec![7; 2000]).within(LONG).await.unwrap();
        }
        ALLOCATIONS.load(Ordering::SeqCst) - before - 2 * count
    }
}

fn identity(host: u8) -> Identity {
    Identity::new(Key::new([host; 32]))
}

fn place(host: u8, other: u8) -> (OwnSystem, Udp, Node) {
    let system = System::builder().workers(1).own();
    let settings = Settings::new(identity(host)).peer(identity(other).public(), None);
    let udp = Udp::bind(settings, "127.0.0.1:0".parse().unwrap()).unwrap();
    let node = Node::start(&system, udp.clone()).unwrap();
    (system, udp, node)
}

// [ENV-17]
#[test]
fn messages_between_warm_nodes_allocate_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (theirs, udp, there) = place(1, 2);
        let echo = theirs.spawn::<Echo>(Echo).await.unwrap();
        there.export("echo", Export::of(&echo)).unwrap();
        let (ours, _udp, here) = place(2, 1);
        let peer = here.connect(&udp.node_address()).await.unwrap();
        let echo: Ref<Echo> = peer.find("echo").await.unwrap();
        let sender = ours.spawn::<Sender>(Sender { echo }).await.unwrap();
        sender.ask_all(MESSAGES / 10).within(LONG).await.unwrap();
        // Pools and buffers grow as long as more is under way than ever before; how long that is depends on the machine.
        let few = MESSAGES / 20;
        let mut told = usize::MAX;
        for _ in 0..ROUNDS_MAX {
            told = sender.tell_all(MESSAGES).within(LONG).await.unwrap();
            if told <= few {
                break;
            }
        }
        assert!(told <= few, "{told} allocations for {MESSAGES} tells");
        let asked = sender.ask_all(MESSAGES).within(LONG).await.unwrap();
        assert!(asked <= few, "{asked} allocations for {MESSAGES} asks");
        let long = MESSAGES / 20;
        sender.ask_all_long(long).within(LONG).await.unwrap();
        let asked = sender.ask_all_long(long).within(LONG).await.unwrap();
        assert!(asked <= long / 20, "{asked} allocations for {long} long asks");
    });
}
