//! Streams against a list, in simulated worlds: whatever is emitted, whenever either end stops, what is read is its
//! beginning, and all of it where the stream had an end.

use greenroom::net::{Export, Identity, Incarnation, Loopback, Node, NodeId};
use greenroom::sim::{World, WorldClock};
use greenroom::{Actor, Cut, Emitter, Items, System, handlers};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

type Item = (u32, Vec<u8>);

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Finished,
    /// The emitter is dropped.
    Dropped,
    /// The reader leaves when it has read so many.
    Left(usize),
    /// The wire is cut after so many milliseconds.
    Broken(u64),
}

/// What was read, and how it ended there.
type Log = Arc<Mutex<(Vec<Item>, Option<Result<(), Cut>>)>>;

/// Reads, so many items and no more.
#[derive(Actor)]
struct Reader {
    log: Log,
    most: usize,
    clock: WorldClock,
}

#[handlers(wire = "test.reader/1")]
impl Reader {
    #[start]
    fn start(log: Log, most: usize, clock: WorldClock) -> Self {
        Self { log, most, clock }
    }
    #[tell]
    async fn read(&mut self, mut items: Items<Item>, pause_ms: u64) {
        for _ in 0..self.most {
            match items.try_next().await {
                Ok(Some(item)) => self.log.lock().unwrap().0.push(item),
                end => {
                    self.log.lock().unwrap().1 = Some(end.map(|_| ()));
                    return;
                }
            }
            self.clock.sleep(u32::try_from(pause_ms).unwrap() * MS).await;
        }
    }
}

/// Emits, and says how many were taken.
#[derive(Actor)]
struct Writer;

#[handlers]
impl Writer {
    #[ask]
    async fn write(&mut self, emitter: Emitter<Item>, items: Vec<Item>, end: End) -> usize {
        for (taken, item) in items.iter().enumerate() {
            if emitter.emit(item.clone()).await.is_err() {
                return taken;
            }
        }
        if end != End::Dropped {
            emitter.finish();
        }
        items.len()
    }
}

fn node(system: &System, network: &Loopback, name: &str, number: u64) -> Node {
    let identity = Identity { node: NodeId(number), incarnation: Incarnation(1) };
    Node::start(system, network.node(name, identity)).unwrap()
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Finished),
        Just(End::Dropped),
        (0..40_usize).prop_map(End::Left),
        (0..40_u64).prop_map(End::Broken),
    ]
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    // Some are long, so that they are more than what may be under way.
    let len = prop_oneof![8 => 0..40_usize, 1 => 100_000..2_000_000_usize];
    prop::collection::vec((any::<u32>(), len.prop_map(|len| vec![7; len])), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(sanitized) { 8 } else { 48 }))]
    // [G-STREAM-3] [ENV-20]
    #[test]
    fn what_is_read_is_what_was_emitted(
        seed in any::<u64>(),
        items in items(),
        end in end(),
        (room, frames, pause) in (1..6_usize, 1..9_usize, 0..3_u64),
    ) {
        let mut world = World::new(seed);
        let (here, there) = (world.node("here").start(), world.node("there").start());
        let clock = world.clock();
        let network = Loopback::new().frames_max(frames);
        let log = Log::default();
        let emitted = items.clone();
        let shared = Arc::clone(&log);
        let taken = world.run(async move {
            let near = node(&here.system(), &network, "here", 1);
            let far = node(&there.system(), &network, "there", 2);
            let most = if let End::Left(most) = end { most } else { usize::MAX };
            let reader = (Arc::clone(&shared), most, clock.clone());
            let reader = there.system().spawn::<Reader>(reader).await.unwrap();
            far.export("reader", Export::of(&reader)).unwrap();
            let peer = near.connect(&"loopback:there".parse().unwrap()).await.unwrap();
            let reader = peer.find::<Reader>("reader").await.unwrap();
            let writer = here.system().spawn::<Writer>(Writer).await.unwrap();
            let (emitter, stream) = Items::bounded(room);
            reader.read(stream, pause).await.unwrap();
            if let End::Broken(after) = end {
                let (network, clock) = (network.clone(), clock.clone());
                here.system().spawn::<Cutter>((network, clock, after)).await.unwrap();
            }
            let taken = writer.write(emitter, emitted, end).within(3600 * 1000 * MS).await.unwrap();
            clock.sleep(5000 * MS).await;
            taken
        });
        let (read, over) = log.lock().unwrap().clone();
        prop_assert!(read.len() <= taken.max(items.len().min(taken + 1)));
        prop_assert_eq!(&read[..], &items[..read.len()]);
        match end {
            End::Finished => prop_assert_eq!((read.len(), over), (items.len(), Some(Ok(())))),
            End::Dropped => {
                prop_assert_eq!((read.len(), over), (items.len(), Some(Err(Cut::Abandoned))));
            }
            End::Left(most) => prop_assert_eq!(read.len(), items.len().min(most)),
            End::Broken(_) => match over {
                Some(Ok(())) => prop_assert_eq!(read.len(), items.len()),
                // It never heard of the stream where the wire was cut before.
                None => prop_assert!(read.is_empty(), "{} items and no end", read.len()),
                Some(Err(cut)) => prop_assert_eq!(cut, Cut::NodeDown),
            },
        }
    }
}

/// Cuts the wire.
#[derive(Actor)]
struct Cutter;

#[handlers]
impl Cutter {
    #[start]
    fn start(
        network: Loopback,
        clock: WorldClock,
        after: u64,
        cx: &mut greenroom::Context<Self>,
    ) -> Self {
        cx.task(async move {
            clock.sleep(Duration::from_millis(after)).await;
            network.cut("here", "there");
        });
        Self
    }
}
