//! A link that has room for some frames and not for others.

use crate::stage::identity;
use crate::support::{Builds, LONG, OwnSystem, run, soon, until, until_async};
use crate::wrapped::Wrapped;
use greenroom::net::{
    Export, FrameBuf, Identity, Link, LinkEnd, Loopback, LoopbackNode, Node, Order, SubmitError,
};
use greenroom::{Actor, Context, Items, Ref, Scheduler, System, handlers};
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

/// Longer frames are long.
const SHORT: usize = 1 << 10;
const LEN: usize = 64 << 10;
const ENOUGH: usize = 1000;

/// What there is room for, of each kind of frames, by how many of them.
#[derive(Default)]
struct Room {
    short: usize,
    long_answers: usize,
    long_mail: usize,
    /// Whether a frame was refused since there was room last.
    is_refused: bool,
    /// Whether there was room since whoever waits for it was last told.
    was_opened: bool,
    refused_answers: usize,
    refused_mail: usize,
    waiter: Option<Waker>,
}

impl Room {
    fn left_for(&mut self, order: Order, frame: &[u8]) -> &mut usize {
        match order {
            _ if frame.len() <= SHORT => &mut self.short,
            Order::Within(_) => &mut self.long_mail,
            _ => &mut self.long_answers,
        }
    }
}

#[derive(Clone, Default)]
struct Door(Arc<Mutex<Room>>);

impl Door {
    /// Makes room, and says so.
    fn open(&self, change: impl FnOnce(&mut Room)) {
        let mut room = self.0.lock();
        change(&mut room);
        (room.is_refused, room.was_opened) = (false, true);
        let waiter = room.waiter.take();
        drop(room);
        waiter.into_iter().for_each(Waker::wake);
    }

    /// Waits until some frame was refused of which the room keeps count.
    async fn refuses(&self, what: fn(&Room) -> usize) {
        until(|| what(&self.0.lock()) > 0).await;
    }
}

/// All of whose frames go through the door.
struct BehindLink {
    link: Box<dyn Link>,
    door: Door,
}

impl Link for BehindLink {
    fn peer(&self) -> Identity {
        self.link.peer()
    }

    fn submit(&self, order: Order, frame: &[u8]) -> Result<(), SubmitError> {
        let mut room = self.door.0.lock();
        let left = room.left_for(order, frame);
        if *left == 0 {
            room.is_refused = true;
            match order {
                Order::Within(_) => room.refused_mail += 1,
                _ => room.refused_answers += 1,
            }
            return Err(SubmitError::Full);
        }
        *left -= 1;
        drop(room);
        self.link.submit(order, frame)
    }

    fn poll_room(&self, cx: &mut task::Context<'_>) -> Poll<()> {
        let mut room = self.door.0.lock();
        if std::mem::take(&mut room.was_opened) || !room.is_refused {
            return Poll::Ready(());
        }
        room.waiter = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_receive(
        &self,
        cx: &mut task::Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        self.link.poll_receive(cx, frame)
    }

    fn delivered(&self) -> u64 {
        self.link.delivered()
    }

    fn close(&self) {
        self.link.close();
    }
}

fn behind(node: LoopbackNode, door: &Door) -> Wrapped {
    let door = door.clone();
    Wrapped::new(node, move |link| BehindLink { link, door: door.clone() })
}

/// Gives as much as is wanted, and counts what it is given.
#[derive(Actor)]
struct Shop {
    taken: usize,
}

#[handlers(wire = "test.shop/1")]
impl Shop {
    #[ask]
    fn give(&self, len: usize) -> Vec<u8> {
        vec![7; len]
    }
    #[tell]
    fn take(&mut self, bytes: Vec<u8>) {
        self.taken += usize::from(!bytes.is_empty());
    }
    #[ask]
    fn taken(&self) -> usize {
        self.taken
    }
    #[ask]
    fn give_all(&self, len: usize, cx: &mut Context<Self>) -> Items<Vec<u8>> {
        let (emitter, items) = Items::bounded(1);
        cx.task(async move { while emitter.emit(vec![7; len]).await.is_ok() {} });
        items
    }
    #[tell]
    fn shut(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

/// The shop of a node, and how the other node reaches it.
struct Shops {
    door: Door,
    /// Of the node behind the door, as the other one sees it.
    behind: Ref<Shop>,
    /// Of the other node, as the one behind the door sees it, and as it is.
    other: Ref<Shop>,
    near: Ref<Shop>,
    /// The same of another shop there.
    annex: Ref<Shop>,
    near_annex: Ref<Shop>,
}

/// Runs `test` with a node behind a door, which is open at first, and one that is not.
fn with_door(test: impl AsyncFn(&Shops)) {
    let (network, door) = (Loopback::new(), Door::default());
    door.open(|room| {
        (room.short, room.long_answers, room.long_mail) = (ENOUGH, ENOUGH, ENOUGH);
    });
    let system = || System::builder().workers(1).scheduler(Scheduler::locked()).own();
    let (here, there): (OwnSystem, OwnSystem) = (system(), system());
    run(soon(async {
        let node = network.node("here", identity("here"));
        let here_node = Node::start(&here, behind(node, &door)).unwrap();
        let there_node = Node::start(&there, network.node("there", identity("there"))).unwrap();
        let mut shops = Vec::new();
        for (system, node) in [(&here, &here_node), (&there, &there_node)] {
            let shop = system.spawn::<Shop>(Shop { taken: 0 }).await.unwrap();
            node.export("shop", Export::of(&shop)).unwrap();
            shops.push(shop);
        }
        let near = shops.pop().unwrap();
        let near_annex = there.spawn::<Shop>(Shop { taken: 0 }).await.unwrap();
        there_node.export("annex", Export::of(&near_annex)).unwrap();
        let there_peer = here_node.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let other = there_peer.find::<Shop>("shop").await.unwrap();
        let annex = there_peer.find::<Shop>("annex").await.unwrap();
        let here_peer = there_node.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        let behind = here_peer.find::<Shop>("shop").await.unwrap();
        test(&Shops { door: door.clone(), behind, other, near, annex, near_annex }).await;
        door.open(|room| {
            (room.short, room.long_answers, room.long_mail) = (ENOUGH, ENOUGH, ENOUGH);
        });
        here.shutdown(LONG).await.unwrap();
        there.shutdown(LONG).await.unwrap();
    }));
}

// [ENV-23]
#[test]
fn what_is_short_leaves_while_there_is_no_room_for_long_answers() {
    with_door(async |Shops { door, behind, other, near, .. }| {
        door.open(|room| room.long_answers = 0);
        let long = behind.clone();
        let long = tokio::spawn(async move { long.give(LEN).within(LONG).await });
        door.refuses(|room| room.refused_answers).await;
        // Answers, and mail of users.
        assert_eq!(behind.give(10).await.unwrap().len(), 10);
        other.take(vec![7; 10]).await.unwrap();
        takes(near, 1).await;
        assert!(!long.is_finished());
        door.open(|room| room.long_answers = 1);
        assert_eq!(long.await.unwrap().unwrap().len(), LEN);
    });
}

// [ENV-23]
#[test]
fn room_that_long_answers_cannot_use_is_for_others() {
    with_door(async |Shops { door, behind, other, near, .. }| {
        door.open(|room| (room.long_answers, room.long_mail) = (0, 0));
        let long = behind.clone();
        let long = tokio::spawn(async move { long.give(LEN).within(LONG).await });
        door.refuses(|room| room.refused_answers).await;
        other.take(vec![7; LEN]).await.unwrap();
        door.refuses(|room| room.refused_mail).await;
        door.open(|room| room.long_mail = 1);
        takes(near, 1).await;
        assert!(!long.is_finished());
        door.open(|room| room.long_answers = 1);
        assert_eq!(long.await.unwrap().unwrap().len(), LEN);
    });
}

// [ENV-24]
#[test]
fn who_ends_while_its_mail_waits_holds_up_nobody() {
    with_door(async |Shops { door, other, near, annex, near_annex, .. }| {
        door.open(|room| room.long_mail = 0);
        other.take(vec![7; LEN]).await.unwrap();
        door.refuses(|room| room.refused_mail).await;
        annex.take(vec![7; LEN]).await.unwrap();
        near.shut().await.unwrap();
        soon(other.ended()).await;
        door.open(|room| room.long_mail = 1);
        takes(near_annex, 1).await;
    });
}

// [ENV-24]
#[test]
fn a_stream_that_is_over_while_an_item_waits_holds_up_nobody() {
    with_door(async |Shops { door, behind, other, near, annex, near_annex }| {
        door.open(|room| room.long_mail = 0);
        let mut items = behind.give_all(LEN).await.unwrap();
        let read = tokio::spawn(async move { items.next().await });
        door.refuses(|room| room.refused_mail).await;
        // Something leaves, so that who comes now comes behind the stream.
        other.take(vec![7; 10]).await.unwrap();
        takes(near, 1).await;
        annex.take(vec![7; LEN]).await.unwrap();
        read.abort();
        assert!(read.await.is_err_and(|error| error.is_cancelled()), "nothing came");
        until_async(async || {
            door.open(|room| room.long_mail = 1);
            near_annex.taken().await.unwrap() == 1
        })
        .await;
    });
}

// [ENV-24]
#[test]
fn a_flow_to_one_actor_lets_others_have_their_turns() {
    with_door(async |Shops { door, other, near, annex, near_annex, .. }| {
        door.open(|room| room.long_mail = 0);
        for _ in 0..10 {
            other.take(vec![7; LEN]).await.unwrap();
        }
        door.refuses(|room| room.refused_mail).await;
        annex.take(vec![7; LEN]).await.unwrap();
        // However few find room at a time, it is the second or third.
        for _ in 0..3 {
            let before = near.taken().await.unwrap() + near_annex.taken().await.unwrap();
            door.open(|room| room.long_mail = 1);
            until_async(async || {
                near.taken().await.unwrap() + near_annex.taken().await.unwrap() > before
            })
            .await;
        }
        assert_eq!(near_annex.taken().await.unwrap(), 1);
    });
}

async fn takes(shop: &Ref<Shop>, count: usize) {
    until_async(async || shop.taken().await.unwrap() == count).await;
}
