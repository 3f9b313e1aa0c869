//! What a connection hands in before others have their turn.

use crate::stage::{Place, book, open, shut};
use crate::support::{run, soon, until};
use greenroom::net::{Export, Loopback};
use greenroom::{Actor, Context, Scheduler, System, handlers};
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// So many have no room, and have it again at once.
const MANY: u64 = 600;

/// What a connection hands in before others have their turn, a few times over.
const FEW: u64 = 64 * 4;

/// Counts how often one of it is decoded.
#[derive(Debug, Serialize)]
struct Counted(u64);

static DECODED: AtomicU64 = AtomicU64::new(0);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        DECODED.fetch_add(1, Ordering::Relaxed);
        Deserialize::deserialize(from).map(Self)
    }
}

/// Goes on when the gate is open.
#[derive(Actor)]
#[actor(mailbox = bounded(4))]
struct Visitor {
    gate: Arc<Semaphore>,
}

#[handlers(wire = "test.visitor/1")]
impl Visitor {
    #[start]
    fn start(gate: Arc<Semaphore>) -> Self {
        Self { gate }
    }
    #[tell]
    async fn enter(&mut self, counted: Counted) {
        let Counted(_) = counted;
        self.gate.acquire().await.unwrap().forget();
    }
}

/// Notes how many are decoded between two of its turns.
#[derive(Actor)]
struct Onlooker {
    gate: Arc<Semaphore>,
    before: u64,
    most: u64,
}

#[handlers]
impl Onlooker {
    #[start]
    fn start(gate: Arc<Semaphore>) -> Self {
        Self { gate, before: 0, most: 0 }
    }
    /// Opens the gate, and looks until so many are decoded.
    #[tell]
    fn open(&mut self, all: u64, cx: &mut Context<Self>) {
        // Those who wait at it are all ready before the next one has its turn.
        self.gate.add_permits(usize::try_from(all).unwrap());
        self.before = DECODED.load(Ordering::Relaxed);
        cx.me().look(all).try_send().unwrap();
    }
    #[tell]
    fn look(&mut self, all: u64, cx: &mut Context<Self>) {
        let decoded = DECODED.load(Ordering::Relaxed);
        self.most = self.most.max(decoded - self.before);
        self.before = decoded;
        if decoded < all {
            cx.me().look(all).try_send().unwrap();
        }
    }
    #[ask]
    fn most(&self) -> u64 {
        self.most
    }
}

// [G-REMOTE-6]
#[test]
fn others_have_their_turn_however_many_have_room_again() {
    let network = Loopback::new().frames_max(8192);
    let here = Place::new(&network, "here", Scheduler::stealing());
    // With one worker, whoever has a turn keeps all others from theirs, which is to be the work of one message.
    let system = System::builder().workers(1).batch(1).scheduler(Scheduler::locked());
    let there = Place::of(&network, "there", system);
    run(async {
        let gate = shut();
        let peer = here.reach(&there).await;
        for number in 0..MANY {
            let near = there.system.spawn::<Visitor>(Arc::clone(&gate)).await.unwrap();
            let name = format!("visitor {number}");
            there.node.export(&name, Export::of(&near)).unwrap();
            let far = peer.find::<Visitor>(&name).await.unwrap();
            for number in 0..12 {
                far.enter(Counted(number)).await.unwrap();
            }
        }
        // When this is answered, they have come.
        let (_, other) = book(&here, &there, "other", open()).await;
        assert_eq!(soon(other.divide(8, 4).into_future()).await, Ok(2));
        let onlooker = there.system.spawn::<Onlooker>(gate).await.unwrap();
        onlooker.open(12 * MANY).await.unwrap();
        until(|| DECODED.load(Ordering::Relaxed) == 12 * MANY).await;
        let most = onlooker.most().await.unwrap();
        assert!(most <= FEW, "{most}");
        here.shut().await;
        there.shut().await;
    });
}
