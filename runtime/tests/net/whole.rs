//! Bytes that are kept where they came in.

use crate::stage::identity;
use crate::support::{Builds, LONG, run};
use crate::wrapped::Wrapped;
use greenroom::net::{Bytes, Export, Identity, Link, LinkEnd, Loopback, Node, Order, SubmitError};
use greenroom::{Actor, HeapBytes, Ref, Scheduler, System, handlers};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

/// Where the frames lay that came.
type Places = Arc<Mutex<Vec<Range<usize>>>>;

/// A pipe of which it is known where frames come in, each with so much room for more.
struct WatchedLink {
    link: Box<dyn Link>,
    places: Places,
    room: usize,
    /// Frames that were used up: what is copied must not come to lie where one of them was.
    used: Mutex<Vec<Vec<u8>>>,
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

    fn poll_receive(&self, cx: &mut Context<'_>, frame: &mut Vec<u8>) -> Poll<Result<(), LinkEnd>> {
        let mut next = Vec::new();
        let received = ready!(self.link.poll_receive(cx, &mut next));
        self.used.lock().unwrap().push(std::mem::replace(frame, next));
        frame.reserve(self.room);
        self.places.lock().unwrap().push(place(frame));
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
    /// Where it lies.
    #[ask]
    fn places(&self) -> Vec<(usize, usize)> {
        self.kept.iter().map(|bytes| place(bytes)).map(|place| (place.start, place.end)).collect()
    }
}

/// A node whose frames are watched.
fn node(system: &System, network: &Loopback, name: &str, room: usize) -> (Node, Places) {
    let places = Places::default();
    let node = network.node(name, identity(name));
    let kept = Arc::clone(&places);
    let watched = Wrapped::new(node, move |link| {
        let (places, used) = (Arc::clone(&kept), Mutex::default());
        WatchedLink { link, places, room, used }
    });
    (Node::start(system, watched).unwrap(), places)
}

/// Runs `test` with a store at another node; the places are those of frames that came there, and here.
fn with_store(
    permits: usize,
    room: usize,
    test: impl AsyncFn([&Ref<Store>; 2], &tokio::sync::Semaphore, [&Places; 2]),
) {
    let network = Loopback::new();
    let gate = Arc::new(tokio::sync::Semaphore::new(permits));
    let system = || System::builder().workers(1).scheduler(Scheduler::locked()).own();
    run(async {
        let (here, there) = (system(), system());
        let (here_node, here_places) = node(&here, &network, "here", room);
        let (there_node, there_places) = node(&there, &network, "there", room);
        let near = there.spawn::<Store>(Arc::clone(&gate)).await.unwrap();
        there_node.export("store", Export::of(&near)).unwrap();
        let peer = here_node.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let far = peer.find::<Store>("store").await.unwrap();
        test([&near, &far], &gate, [&there_places, &here_places]).await;
        here.shutdown(LONG).await.unwrap();
        there.shutdown(LONG).await.unwrap();
    });
}

fn lies_in(start: usize, end: usize, places: &Places) -> bool {
    let places = places.lock().unwrap();
    places.iter().any(|place| place.start <= start && end <= place.end)
}

fn bytes(len: usize) -> Bytes {
    (0..len).map(|at| (at * 7 + len) as u8).collect()
}

const LENGTHS: [usize; 9] = [0, 10, 1023, 1024, 5000, 16 << 10, 3, 64 << 10, 2000];

/// Also what waited for room in the mailbox; and short messages do not end up in the memory of long ones that are kept.
#[test]
fn long_bytes_are_kept_where_they_came_in() {
    for permits in [LENGTHS.len(), 0] {
        with_store(permits, 0, async |[near, far], gate, [there, here]| {
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

/// No actor has the memory of a whole message for a small part of it.
#[test]
fn bytes_beside_more_are_copied() {
    with_store(0, 0, async |[near, far], _, [there, _]| {
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
        with_store(permits, 64 << 10, async |[near, far], gate, places| {
            for len in [2000, 3000] {
                far.put(bytes(len)).await.unwrap();
            }
            gate.add_permits(2 - permits);
            let answer = place(&far.get(1).await.unwrap());
            let kept = near.places().await.unwrap().into_iter().chain([(answer.start, answer.end)]);
            for (start, end) in kept {
                assert!(!places.into_iter().any(|places| lies_in(start, end, places)));
            }
        });
    }
}

/// Where bytes are bounded, what they may hold counts.
#[test]
fn kept_bytes_count_as_what_they_may_hold() {
    assert_eq!(bytes(2000).heap_bytes(), 4000);
}
