//! Queues, usable on their own: pure containers that know nothing of actors.
//!
//! | to | use |
//! |---|---|
//! | send from one thread to one other | [`spsc`] |
//! | call and answer between many threads | [`flux`], [`mesh`]; both make the nodes of [`exchange`], as [`Flux`] and [`Mesh`] |
//! | know which of many mailboxes are ready, and run each on one worker at a time | [`coordinator`] |

// Inside the crate:
//
// | part | shape | locked twin |
// |---|---|---|
// | `inbox` | many producers, one consumer, with the scheduling token in the same word | `twin::LockedInbox` |
// | `growth` | whether a receiver's mail grows, in one word of its inbox | |
// | `ring` | fixed ring: its owner pushes and pops, thieves take half | `twin::LockedRing` |
// | `spsc` | bounded ring, one producer, one consumer | `VecDeque`, in its tests |
// | `mpmc` | many producers, and consumers who claim several at once | `twin::LockedLine` |
// | `peers` | sets of peers; one of them they put themselves into | `BTreeSet`, in its tests |
// | `bell` | a place for one waker | |
// | `coordinator` | a word per mailbox, over a queue of slots | sets and a deque, in its tests |
// | `mpsc` | unbounded, many producers, one consumer, whole chains at once | `VecDeque`, in its tests |
// | `oneshot` | one value, one producer, one consumer | tokio's |
// | `permits` | a count that is taken from, and waited for in order | a deque, in its tests |
// | `level` | a count with a high and a low mark, which some pass and others wait at | a deque, in its tests |
// | `waiters` | those who wait at `permits` or a `level`, behind its lock | |
// | `crew` | a count whose owner waits for the last one to leave | |
// | `gate` | a count with a seal, for those who enter and leave | |
// | `together` | futures, each polled when something was done for it | |
// | `row` | one thread's own FIFO, in an array as long as it goes | `VecDeque`, in its tests |
// | `list` | the consumer's own FIFO, no sharing at all | |
// | `pool` | recycled memory blocks | the global allocator |

pub mod coordinator;
pub mod exchange;
pub mod flux;
pub mod mesh;
pub mod spsc;

/// A node of a [`flux`] group, for who writes down its type.
///
/// ```
/// use greenroom::queue::{Flux, exchange::Received, flux};
///
/// /// Answers one call with twice what it was sent.
/// fn answer(mut node: Flux<u64, ()>) {
///     loop {
///         if let Some(Received::Call(request)) = node.poll() {
///             let double = 2 * request.payload;
///             return node.reply(request, double);
///         }
///     }
/// } // a node that is dropped flushes
///
/// let [mut asker, answerer] = flux::nodes(2, 8).try_into().unwrap();
/// let thread = std::thread::spawn(move || answer(answerer));
/// asker.call(1, 21, ()).unwrap();
/// let double = loop {
///     if let Some(Received::Reply { payload, .. }) = asker.poll() {
///         break payload;
///     }
/// };
/// assert_eq!(double, 42);
/// # thread.join().unwrap();
/// ```
pub type Flux<P, U> = exchange::Node<P, U, flux::Rings<P>>;

/// A node of a [`mesh`] group, for who writes down its type; it is used as a [`Flux`] is.
///
/// ```
/// use greenroom::queue::{Mesh, mesh};
///
/// let nodes: Vec<Mesh<u64, ()>> = mesh::nodes(16, 8);
/// assert_eq!(nodes[3].id(), 3);
/// ```
pub type Mesh<P, U> = exchange::Node<P, U, mesh::Inboxes<P>>;

pub(crate) mod bell;
pub(crate) mod crew;
pub(crate) mod gate;
pub(crate) mod growth;
pub(crate) mod inbox;
pub(crate) mod level;
pub(crate) mod list;
#[cfg_attr(loom, allow(dead_code, reason = "who uses it is no model"))]
pub(crate) mod locked_ptr;
pub(crate) mod mpmc;
mod mpsc;
pub(crate) mod node;
pub(crate) mod oneshot;
mod peers;
pub(crate) mod permits;
pub(crate) mod pool;
pub(crate) mod ring;
pub(crate) mod row;
#[cfg(any(all(test, loom), all(feature = "net", not(any(loom, shuttle)))))]
#[cfg_attr(loom, allow(dead_code, reason = "who uses it is no model"))]
pub(crate) mod together;
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) mod twin;
mod waiters;
