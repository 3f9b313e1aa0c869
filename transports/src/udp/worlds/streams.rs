//! Long streams over a wire that loses, doubles and reorders packets, stands still, and is cut.

use super::{Ground, MS, PORT, public};
use greenroom::net::{Address, Bytes, Export};
use greenroom::sim::{Explore, Link, Node, World};
use greenroom::{Actor, Cut, EmitError, Items, handlers};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CHUNK: usize = 64 << 10;
const MEBIBYTES: u64 = 16;
const SECOND: Duration = Duration::from_secs(1);
/// Within this, what was under way is sent, or known to be lost.
const LIVENESS: Duration = Duration::from_secs(900);

/// How far a stream has come, and how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Read {
    bytes: u64,
    end: Option<Result<(), Cut>>,
}

/// Checks what it reads: each chunk is full of its number.
#[derive(Actor)]
struct Reader {
    read: Arc<Mutex<Read>>,
}

#[handlers(wire = "test.reader/1")]
impl Reader {
    #[tell]
    async fn read(&mut self, mut content: Items<Bytes>) {
        let end = loop {
            match content.try_next().await {
                Ok(Some(chunk)) => {
                    let mut read = self.read.lock().unwrap();
                    let number = (read.bytes / CHUNK as u64) as u8;
                    assert!(chunk.iter().all(|byte| *byte == number), "behind {}", read.bytes);
                    read.bytes += chunk.len() as u64;
                }
                end => break end.map(|_| ()),
            }
        };
        self.read.lock().unwrap().end = Some(end);
    }
}

/// What came of emitting.
type Emitted = Rc<Cell<Option<Result<(), bool>>>>;

/// Emits a long stream to the node there.
async fn emit(ground: Ground, node: Node, at: SocketAddr, emitted: Emitted) {
    let net = ground.join(&node, 1, &[0]).unwrap();
    let address: Address = format!("udp:{at}#{}", public(0)).parse().unwrap();
    let peer = net.connect(&address).await.unwrap();
    let reader = peer.find::<Reader>("reader").await.unwrap();
    let (emitter, content) = Items::bounded(2);
    reader.read(content).await.unwrap();
    for number in 0..MEBIBYTES * (1 << 20) / CHUNK as u64 {
        if let Err(error) = emitter.emit(vec![number as u8; CHUNK].into()).await {
            return emitted.set(Some(Err(matches!(error, EmitError::NodeDown(_)))));
        }
    }
    emitter.finish();
    emitted.set(Some(Ok(())));
}

/// A world in which a node emits, and another one has read something.
fn stage(world: &mut World) -> (Node, Arc<Mutex<Read>>, Emitted) {
    crate::secure::packet::watch::forget();
    let link = Link::default().latency(2 * MS).jitter(MS).loss(5).duplication(5);
    world.set_links(link);
    let ground = Ground::new(world);
    let read = Arc::<Mutex<Read>>::default();
    let (shared, log) = (ground.clone(), Arc::clone(&read));
    let serve = move |node: Node| {
        let (ground, read) = (shared.clone(), Arc::clone(&log));
        async move {
            let net = ground.attend(&node, 0, &[1]).unwrap();
            let reader = node.system().spawn::<Reader>(Reader { read }).await.unwrap();
            net.export("reader", Export::of(&reader)).unwrap();
        }
    };
    let server = world.node("server").boot(serve).start();
    let at = SocketAddr::new(server.host(), PORT);
    let emitted = Emitted::default();
    let told = Rc::clone(&emitted);
    let boot = move |node| emit(ground.clone(), node, at, Rc::clone(&told));
    let client = world.node("client").boot(boot).start();
    let clock = world.clock();
    world.run_within(LIVENESS, async {
        while read.lock().unwrap().bytes == 0 {
            clock.sleep(MS).await;
        }
    });
    (client, read, emitted)
}

// [G-STREAM-3]
#[test]
fn a_long_stream_comes_whole_over_a_bad_wire() {
    Explore::new().seeds(1).run(|world| {
        let (client, read, emitted) = stage(world);
        assert!(read.lock().unwrap().bytes < MEBIBYTES << 20, "some is under way");
        world.partition(&[client]);
        world.run_for(3 * SECOND);
        world.heal();
        let clock = world.clock();
        world.run_within(LIVENESS, async {
            while emitted.get().is_none() || read.lock().unwrap().end.is_none() {
                clock.sleep(100 * MS).await;
            }
        });
        let whole = Read { bytes: MEBIBYTES << 20, end: Some(Ok(())) };
        assert_eq!((*read.lock().unwrap(), emitted.get()), (whole, Some(Ok(()))));
    });
}

// [G-STREAM-3]
#[test]
fn a_stream_over_a_wire_that_is_cut_is_told_to_both_ends() {
    Explore::new().seeds(4).run(|world| {
        let (client, read, emitted) = stage(world);
        world.partition(&[client]);
        let clock = world.clock();
        world.run_within(60 * SECOND, async {
            while emitted.get().is_none() || read.lock().unwrap().end.is_none() {
                clock.sleep(100 * MS).await;
            }
        });
        assert_eq!(emitted.get(), Some(Err(true)), "the node is down");
        assert_eq!(read.lock().unwrap().end, Some(Err(Cut::NodeDown)));
    });
}
