//! Bytes that are kept where they came in, or in memory that the transport lends.

use crate::stage::identity;
use crate::support::{Builds, LONG, run, until};
use crate::wrapped::Wrapped;
use greenroom::net::{
    Bytes, Export, FrameBuf, Identity, Link, LinkEnd, Loopback, Node, Order, SubmitError,
};
use greenroom::{Actor, HeapBytes, Ref, Scheduler, System, handlers};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

/// Where the frames lay that came.
type Places = Arc<Mutex<Vec<Range<usize>>>>;

/// In which memory frames come.
#[derive(Clone, Copy)]
enum Memory {
    /// Its own, each with so much room for more.
    Own { room: usize },
    /// The transport's, each behind so many other bytes.
    Lent { front: usize },
}

/// Memory that is lent, and counted while it is.
struct Lent {
    bytes: Vec<u8>,
    came: Came,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.came.used.lock().unwrap().push(std::mem::take(&mut self.bytes));
        self.came.lent.fetch_sub(1, Relaxed);
    }
}

/// What is known of the frames that came to a node.
#[derive(Clone, Default)]
struct Came {
    places: Places,
    /// How many are lent.
    lent: Arc<AtomicUsize>,
    /// Those that were used up: what is copied must not come to lie where one of them was.
    used: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Came {
    fn lend(&self, frame: &[u8], front: usize) -> FrameBuf {
        self.lent.fetch_add(1, Relaxed);
        let mut bytes = vec![0xee; front];
        bytes.extend_from_slice(frame);
        FrameBuf::lent(Bytes::from_owner(Lent { bytes, came: self.clone() }).slice(front..))
    }

    fn lent(&self) -> usize {
        self.lent.load(Relaxed)
    }
}

/// A pipe of which it is known where frames come in.
struct WatchedLink {
    link: Box<dyn Link>,
    came: Came,
    memory: Memory,
}

impl Link for WatchedLink {
    fn peer(&self) -> Identity {
        self.link.peer()
    }

    fn submit(&self, order: Order, frame: &[u8]) -> Result<(), SubmitError> {
        self.link.submit(order, frame)
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.link.poll_room(cx)
    }

    fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        let mut next = FrameBuf::default();
        let received = ready!(self.link.poll_receive(cx, &mut next));
        let mut next = next.into_own();
        let next = match self.memory {
            Memory::Own { room } => {
                next.reserve(room);
                FrameBuf::from(next)
            }
            Memory::Lent { front } => self.came.lend(&next, front),
        };
        self.came.places.lock().unwrap().push(place(&next));
        self.came.used.lock().unwrap().push(std::mem::replace(frame, next).into_own());
        Poll::Ready(received)
    }

    fn delivered(&self) -> u64 {
        self.link.delivered()
    }

    fn close(&self) {
        self.link.close();
    }
}

fn place(bytes: &[u8]) -> Range<usize> {
    let start = bytes.as_ptr().addr();
    start..start + bytes.len()
}

/// Keeps what it is given.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Store {
    kept: Vec<Bytes>,
    gate: Arc<tokio::sync::Semaphore>,
}

#[handlers(wire = "test.store/1")]
impl Store {
    #[start]
    fn start(gate: Arc<tokio::sync::Semaphore>) -> Self {
        Self { kept: Vec::new(), gate }
    }
    #[tell]
    async fn put(&mut self, bytes: Bytes) {
        self.gate.acquire().await.unwrap().forget();
        self.kept.push(bytes);
    }
    #[tell]
    fn put_beside(&mut self, bytes: Bytes, others: Vec<u8>) {
        let _ = others;
        self.kept.push(bytes);
    }
    #[ask]
    fn get(&self, at: usize) -> Bytes {
        self.kept[at].clone()
    }
    #[ask]
    fn forget(&mut self) {
        self.kept.clear();
    }
    /// Where it lies.
    #[ask]
    fn places(&self) -> Vec<(usize, usize)> {
        self.kept.iter().map(|bytes| place(bytes)).map(|place| (place.start, place.end)).collect()
    }
}

/// A node whose frames are watched.
fn node(system: &System, network: &Loopback, name: &str, memory: Memory) -> (Node, Came) {
    let came = Came::default();
    let node = network.node(name, identity(name));
    let kept = came.clone();
    let watched = Wrapped::new(node, move |link| WatchedLink { link, came: kept.clone(), memory });
    (Node::start(system, watched).unwrap(), came)
}

/// Runs `test` with a store at another node; what is known is of frames that came there, and here.
fn with_store(
    permits: usize,
    memory: Memory,
    test: impl AsyncFn([&Ref<Store>; 2], &tokio::sync::Semaphore, [&Came; 2]),
) {
    let network = Loopback::new();
    let gate = Arc::new(tokio::sync::Semaphore::new(permits));
    let system = || System::builder().workers(1).scheduler(Scheduler::locked()).own();
    run(async {
        let (here, there) = (system(), system());
        let (here_node, came_here) = node(&here, &network, "here", memory);
        let (there_node, came_there) = node(&there, &network, "there", memory);
        let near = there.spawn::<Store>(Arc::clone(&gate)).await.unwrap();
        there_node.export("store", Export::of(&near)).unwrap();
        let peer = here_node.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let far = peer.find::<Store>("store").await.unwrap();
        test([&near, &far], &gate, [&came_there, &came_here]).await;
        here.shutdown(LONG).await.unwrap();
        there.shutdown(LONG).await.unwrap();
    });
}

fn lies_in(start: usize, end: usize, came: &Came) -> bool {
    let places = came.places.lock().unwrap();
    places.iter().any(|place| place.start <= start && end <= place.end)
}

fn bytes(len: usize) -> Bytes {
    (0..len).map(|at| (at * 7 + len) as u8).collect()
}

const LENGTHS: [usize; 9] = [0, 10, 1023, 1024, 5000, 16 << 10, 3, 64 << 10, 2000];

/// Also what waited for room in the mailbox; and short messages do not end up in the memory of long ones that are kept.
#[test]
fn long_bytes_are_kept_where_they_came_in() {
    let memories = [Memory::Own { room: 0 }, Memory::Lent { front: 100 << 10 }];
    for (permits, memory) in
        [LENGTHS.len(), 0].into_iter().flat_map(|it| memories.map(|memory| (it, memory)))
    {
        with_store(permits, memory, async |[near, far], gate, [there, here]| {
            for len in LENGTHS {
                far.put(bytes(len)).await.unwrap();
            }
            gate.add_permits(LENGTHS.len() - permits);
            for (at, len) in LENGTHS.into_iter().enumerate() {
                let answer = far.get(at).await.unwrap();
                assert_eq!(answer, bytes(len));
                let Range { start, end } = place(&answer);
                assert!(len < 1024 || lies_in(start, end, here), "the answer of {len}");
            }
            for ((start, end), len) in near.places().await.unwrap().into_iter().zip(LENGTHS) {
                assert!(len < 1024 || lies_in(start, end, there), "{len} bytes were copied");
            }
        });
    }
}

/// Also where it lies in memory of the transport's, which that has back when nobody keeps it any more.
#[test]
fn what_is_lent_comes_back() {
    const LONG_ONES: usize = 5;
    for permits in [LENGTHS.len(), 0] {
        with_store(
            permits,
            Memory::Lent { front: 40 },
            async |[near, far], gate, [there, here]| {
                for len in LENGTHS {
                    far.put(bytes(len)).await.unwrap();
                }
                gate.add_permits(LENGTHS.len() - permits);
                let answer = far.get(5).await.unwrap();
                // Neither of both nodes keeps what it has done with.
                until(|| there.lent() == LONG_ONES && here.lent() == 1).await;
                drop(answer);
                until(|| here.lent() == 0).await;
                near.forget().await.unwrap();
                until(|| there.lent() == 0).await;
            },
        );
    }
}

/// No actor has the memory of a whole message for a small part of it.
#[test]
fn bytes_beside_more_are_copied() {
    with_store(0, Memory::Own { room: 0 }, async |[near, far], _, [there, _]| {
        far.put_beside(bytes(2000), vec![1; 3000]).await.unwrap();
        assert_eq!(far.get(0).await.unwrap(), bytes(2000));
        let (start, end) = near.places().await.unwrap()[0];
        assert!(!lies_in(start, end, there));
    });
}

/// Nor the memory of a long message for a short one that came in it later.
#[test]
fn bytes_in_memory_for_more_are_copied() {
    for permits in [2, 0] {
        with_store(permits, Memory::Own { room: 64 << 10 }, async |[near, far], gate, came| {
            for len in [2000, 3000] {
                far.put(bytes(len)).await.unwrap();
            }
            gate.add_permits(2 - permits);
            let answer = place(&far.get(1).await.unwrap());
            let kept = near.places().await.unwrap().into_iter().chain([(answer.start, answer.end)]);
            for (start, end) in kept {
                assert!(!came.into_iter().any(|came| lies_in(start, end, came)));
            }
        });
    }
}

/// Where bytes are bounded, what they may hold counts.
#[test]
fn kept_bytes_count_as_what_they_may_hold() {
    assert_eq!(bytes(2000).heap_bytes(), 4000);
}
