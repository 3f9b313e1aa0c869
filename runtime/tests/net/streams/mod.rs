//! Streams that messages take to other nodes.

mod ends;
mod hostile;
mod late;
#[cfg(not(sanitized = "thread"))]
mod model;

use crate::stage::{Place, between, once};
use crate::support::{LONG, soon, until_async};
use greenroom::net::{Bytes, Export, Loopback, Rate};
use greenroom::{Actor, Context, Cut, Emitter, Items, Ref, handlers};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What a stream is made of: numbers that say where they stand.
fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

fn bytes(from: usize, len: usize) -> Bytes {
    (from..from + len).map(byte).collect::<Vec<u8>>().into()
}

/// Emits `len` bytes in chunks of at most `chunk`, and finishes; says how many were taken.
async fn emit_all(emitter: Emitter<Bytes>, len: usize, chunk: usize) -> usize {
    let mut sent = 0;
    while sent < len {
        let part = bytes(sent, chunk.min(len - sent));
        let step = part.len();
        if emitter.emit(part).await.is_err() {
            return sent;
        }
        sent += step;
    }
    emitter.finish();
    sent
}

/// Emits what it is told to.
#[derive(Actor)]
pub(super) struct Feeder;

#[handlers]
impl Feeder {
    #[ask]
    async fn feed(&mut self, emitter: Emitter<Bytes>, len: usize, chunk: usize) -> usize {
        emit_all(emitter, len, chunk).await
    }
}

/// Takes streams and gives some.
#[derive(Actor)]
pub(super) struct Store {
    gate: Arc<Semaphore>,
    taken: u64,
    end: Option<Result<(), Cut>>,
    held: Vec<Items<Bytes>>,
}

#[handlers(wire = "test.store/1")]
impl Store {
    #[start]
    fn start(gate: Arc<Semaphore>) -> Self {
        Self { gate, taken: 0, end: None, held: Vec::new() }
    }
    /// Reads all of it while the asker waits; how long it was, if it was what it should be.
    #[ask]
    async fn put(&mut self, mut content: Items<Bytes>) -> Result<u64, String> {
        let mut read = 0;
        while let Some(chunk) = content.try_next().await.map_err(|cut| cut.to_string())? {
            if !chunk.iter().enumerate().all(|(at, it)| *it == byte(read + at)) {
                return Err(format!("other bytes behind {read}"));
            }
            read += chunk.len();
        }
        Ok(read as u64)
    }
    /// Reads it beside what else it does.
    #[tell]
    fn take(&mut self, content: Items<Bytes>, cx: &mut Context<Self>) {
        cx.attach_until(content.checked(), Self::chunk, Self::over);
    }
    #[local]
    fn chunk(&mut self, chunk: Result<Bytes, Cut>) {
        match chunk {
            Ok(chunk) => self.taken += chunk.len() as u64,
            Err(cut) => self.end = Some(Err(cut)),
        }
    }
    #[local]
    fn over(&mut self) {
        self.end = self.end.or(Some(Ok(())));
    }
    /// How much it took, and whether it had an end.
    #[ask]
    fn taken(&self) -> (u64, Option<bool>) {
        (self.taken, self.end.map(|end| end.is_ok()))
    }
    #[ask]
    fn get(&self, len: u64, chunk: u64, cx: &mut Context<Self>) -> Items<Bytes> {
        let (emitter, content) = Items::bounded(2);
        cx.task(async move {
            emit_all(emitter, len as usize, chunk as usize).await;
        });
        content
    }
    /// Keeps it without reading.
    #[tell]
    fn hold(&mut self, content: Items<Bytes>) {
        self.held.push(content);
    }
    /// As `hold`, when the gate opens.
    #[ask]
    async fn hold_later(&mut self, content: Items<Bytes>) {
        self.gate.acquire().await.unwrap().forget();
        self.held.push(content);
    }
    /// Gives what it keeps back, or on to another node.
    #[ask]
    fn give_back(&mut self) -> Vec<Items<Bytes>> {
        std::mem::take(&mut self.held)
    }
    #[tell]
    fn let_go(&mut self) {
        self.held.clear();
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told");
    }
}

/// A store at `there`, by the name of `store`, and the reference from `here`.
pub(super) async fn store(here: &Place, there: &Place) -> (Ref<Store>, Ref<Store>, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let near = there.system.spawn::<Store>(Arc::clone(&gate)).await.unwrap();
    there.node.export("store", Export::of(&near)).unwrap();
    let far = here.reach(there).await.find::<Store>("store").await.unwrap();
    (near, far, gate)
}

/// Sends so much to the store and gets it back, wherever it is.
async fn there_and_back(place: &Place, store: &Ref<Store>, len: usize, chunk: usize) {
    let feeder = place.system.spawn::<Feeder>(Feeder).await.unwrap();
    let (emitter, content) = Items::bounded(2);
    let feeding = async move { feeder.feed(emitter, len, chunk).within(LONG).await };
    let feeding = tokio::spawn(feeding);
    assert_eq!(store.put(content).within(LONG).await, Ok(len as u64));
    assert_eq!(soon(feeding).await.unwrap(), Ok(len));

    let mut content = store.get(len as u64, chunk as u64).await.unwrap();
    let mut read = 0;
    while let Some(part) = soon(content.try_next()).await.unwrap() {
        assert!(part == bytes(read, part.len()), "behind {read}");
        read += part.len();
    }
    assert_eq!(read, len);
    assert_eq!(soon(content.try_next()).await, Ok(None), "the end stays");
}

// [G-STREAM-3] [ENV-20]
#[test]
fn a_stream_is_the_same_at_home_and_on_another_node() {
    between(Loopback::new, async |_, here, there| {
        let (near, far, _gate) = store(here, there).await;
        for (len, chunk) in [(0, 1), (5, 1), (300_000, 1000), (3_000_000, 70_000)] {
            there_and_back(there, &near, len, chunk).await;
            there_and_back(here, &far, len, chunk).await;
        }
    });
}

/// More than the 4 MiB that are granted at first.
// [G-STREAM-3] [ENV-20]
#[test]
fn nine_mebibytes_go_there_and_back() {
    once(Loopback::new(), async |_, here, there| {
        let (_, far, _gate) = store(here, there).await;
        there_and_back(here, &far, 9 << 20, 64 << 10).await;
    });
}

// [G-STREAM-3] [ENV-20]
#[test]
#[cfg_attr(sanitized, ignore = "slow: it is about how much there is")]
fn two_hundred_mebibytes_go_there_and_back() {
    once(Loopback::new(), async |_, here, there| {
        let (_, far, _gate) = store(here, there).await;
        there_and_back(here, &far, 200 << 20, 64 << 10).await;
    });
}

// [G-STREAM-3] [ENV-21]
#[test]
fn a_stream_that_is_told_is_read_beside_other_messages() {
    once(Loopback::new(), async |_, here, there| {
        let (_, far, _gate) = store(here, there).await;
        let (emitter, content) = Items::bounded(2);
        far.take(content).await.unwrap();
        emitter.emit(bytes(0, 10)).await.unwrap();
        until_async(async || far.taken().await.unwrap() == (10, None)).await;
        emitter.emit(bytes(10, 5)).await.unwrap();
        emitter.finish();
        until_async(async || far.taken().await.unwrap() == (15, Some(true))).await;
    });
}

/// A stream from another node goes on to a third one, or back.
// [G-STREAM-3]
#[test]
fn a_stream_goes_on_to_other_nodes() {
    once(Loopback::new(), async |network, here, there| {
        let third = Place::new(network, "third", greenroom::Scheduler::stealing());
        let (_, far, _gate) = store(here, there).await;
        let (_, farther, _gate) = store(here, &third).await;
        let feeder = here.system.spawn::<Feeder>(Feeder).await.unwrap();
        let (emitter, content) = Items::bounded(2);
        let feeding = async move { feeder.feed(emitter, 500_000, 9_000).within(LONG).await };
        let feeding = tokio::spawn(feeding);
        far.hold(content).await.unwrap();
        let back = far.give_back().await.unwrap().remove(0);
        assert_eq!(farther.put(back).within(LONG).await, Ok(500_000));
        assert_eq!(soon(feeding).await.unwrap(), Ok(500_000));
        third.shut().await;
    });
}

/// What waits for a reader that does not read is bounded, by bytes and by number.
// [G-STREAM-4] [ENV-20]
#[test]
fn a_stream_that_is_not_read_holds_its_emitter_back() {
    const LENS: [usize; 4] = [0, 1000, 100_000, 3 << 20];
    // The shortest are most.
    let lens = if cfg!(sanitized) { &LENS[1..] } else { &LENS };
    for &len in lens {
        once(Loopback::new(), async |_, here, there| {
            let (_, far, _gate) = store(here, there).await;
            let (emitter, content) = Items::bounded(2);
            far.hold(content).await.unwrap();
            // 2 in the channel, and as many as begin below 4 MiB. Each has up to 4 bytes in front that say how long it is.
            let least = 2 + (4 << 20) / (len + 64 + 4);
            let most = 2 + (4 << 20) / (len + 64) + 2;
            for _ in 0..least {
                soon(emitter.emit(bytes(0, len))).await.unwrap();
            }
            // The last one that begins, and one in hand.
            let mut emitted = least;
            let quiet = std::time::Duration::from_millis(600);
            while tokio::time::timeout(quiet, emitter.emit(bytes(0, len))).await.is_ok() {
                emitted += 1;
                assert!(emitted <= most, "{emitted} of {len} bytes");
            }
            // Others are not held up by it.
            there_and_back(here, &far, 100_000, 10_000).await;
            far.let_go().await.unwrap();
        });
    }
}

/// A limit for messages is none for the items of streams, which go as they are read.
// [ENV-16] [ENV-20]
#[test]
fn items_are_no_messages_to_a_limit() {
    once(Loopback::new(), async |_, here, there| {
        there.node.limit_peers(Rate::per_second(1, 8));
        let (_, far, _gate) = store(here, there).await;
        there_and_back(here, &far, 100_000, 100).await;
    });
}

/// What was finished is sent before a node is closed.
// [G-STREAM-3]
#[test]
fn a_node_that_is_closed_sends_what_was_finished() {
    once(Loopback::new().frames_max(2), async |_, here, there| {
        let (near, far, _gate) = store(here, there).await;
        let (emitter, content) = Items::bounded(100);
        let (open, held) = Items::bounded(1);
        for part in 0..100 {
            emitter.try_emit(bytes(part, 10_000)).unwrap();
        }
        emitter.finish();
        far.hold(held).await.unwrap();
        far.take(content).await.unwrap();
        soon(here.node.close()).await;
        until_async(async || near.taken().await.unwrap() == (1_000_000, Some(true))).await;
        drop(open);
    });
}
