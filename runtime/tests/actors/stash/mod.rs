//! The stash: what is put aside comes back in order before newer mail, and nothing of it is silent.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod called;
mod deadlines;
mod model;

use crate::support::{everywhere, hold_worker, on, soon};
use greenroom::{
    Actor, AskError, Context, DeadLetterReason, Handle, HandleAsync, Message, Ref, StashError,
    System, handlers,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Puts numbers aside while it is shut.
#[derive(Actor)]
#[actor(stash = 4, restart = transient(100 in "1h"))]
struct Shop {
    is_open: bool,
    served: Arc<Mutex<Vec<u32>>>,
}

/// Served, by hand, or handed back to the list of what was.
#[derive(Message)]
struct Order(u32);

#[handlers]
impl Shop {
    #[start]
    fn start(served: Arc<Mutex<Vec<u32>>>) -> Self {
        Self { is_open: false, served }
    }
    #[tell]
    #[stash(while = !self.is_open)]
    fn serve(&mut self, number: u32) {
        self.served.lock().push(number);
    }
    #[ask]
    #[stash(while = !self.is_open)]
    fn buy(&mut self, number: u32) -> u32 {
        self.served.lock().push(number);
        number * 10
    }
    /// Of numbers above a hundred it takes only the even ones when it is shut.
    #[ask]
    #[stash(while = !self.is_open && number % 2 == 1)]
    async fn buy_later(&mut self, number: u32) -> u32 {
        tokio::task::yield_now().await;
        self.serve(number);
        number
    }
    #[ask]
    fn open(&mut self, cx: &mut Context<Self>) -> usize {
        self.is_open = true;
        cx.unstash()
    }
    /// Brings all back, and stays as it is.
    #[ask]
    fn unstash(&mut self, cx: &mut Context<Self>) -> usize {
        cx.unstash()
    }
    #[tell]
    fn shut(&mut self) {
        self.is_open = false;
    }
    #[tell]
    fn crash(&mut self) {
        panic!("as told");
    }
    #[ask]
    fn stashed(&self, cx: &mut Context<Self>) -> usize {
        cx.stashed()
    }
}

/// Served when it is open; put aside by a handler that awaits.
#[derive(Message)]
struct Parcel(u32);

impl HandleAsync<Parcel> for Shop {
    async fn handle(&mut self, parcel: Parcel, cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
        if self.is_open {
            return self.serve(parcel.0);
        }
        cx.stash(parcel).unwrap();
    }
}

impl Handle<Order> for Shop {
    fn handle(&mut self, order: Order, cx: &mut Context<Self>) {
        if self.is_open {
            return self.serve(order.0);
        }
        match cx.stash(order) {
            Ok(()) => {}
            Err(StashError::Full(order)) => self.serve(order.0 + 1000),
            Err(_) => unreachable!("there is no other error"),
        }
    }
}

/// Put aside when it comes first, by a handler that then panics.
#[derive(Message)]
struct Torn(u32);

impl Handle<Torn> for Shop {
    fn handle(&mut self, torn: Torn, cx: &mut Context<Self>) {
        let first = !self.served.lock().contains(&torn.0);
        self.serve(torn.0);
        if first {
            cx.stash(torn).unwrap();
            panic!("as written");
        }
    }
}

type Served = Arc<Mutex<Vec<u32>>>;

async fn shop(system: &System) -> (Ref<Shop>, Served) {
    let served = Served::default();
    (system.spawn::<Shop>(Arc::clone(&served)).await.unwrap(), served)
}

fn read(served: &Served) -> Vec<u32> {
    served.lock().clone()
}

/// Mail for the shop that is sent while no worker runs it.
async fn at_once(system: &System, send: impl FnOnce()) {
    let _hold = hold_worker(system).await;
    send();
}

// [G-STASH-1]
#[test]
fn what_is_stashed_comes_back_in_order_before_newer_mail() {
    everywhere(async |system| {
        let (shop, served) = shop(system).await;
        for number in 1..=3 {
            shop.serve(number).await.unwrap();
        }
        let mut bought = Box::pin(async { shop.buy(4).await });
        assert!(crate::support::poll_once(&mut bought).is_pending());
        while shop.stashed().await != Ok(4) {}
        assert_eq!(read(&served), []);
        assert_eq!(shop.open().await, Ok(4));
        shop.serve(5).await.unwrap();
        assert_eq!(soon(bought).await, Ok(40));
        assert_eq!(shop.stashed().await, Ok(0));
        assert_eq!(read(&served), [1, 2, 3, 4, 5]);
    });
}

// [G-STASH-1]
#[test]
fn newer_mail_waits_though_it_came_before_the_unstash() {
    // One worker, which is held: all of this is mail before any of it is handled.
    for scheduler in crate::support::SCHEDULERS {
        on(1, scheduler(), async |system| {
            let (shop, served) = shop(system).await;
            at_once(system, || {
                shop.serve(1).tell().unwrap();
                shop.tell(Order(2)).tell().unwrap();
                let _ = crate::support::poll_once(&mut Box::pin(async { shop.open().await }));
                shop.serve(3).tell().unwrap();
                shop.shut().tell().unwrap();
                shop.serve(4).tell().unwrap();
                shop.serve(5).tell().unwrap();
                let _ = crate::support::poll_once(&mut Box::pin(async { shop.open().await }));
                shop.serve(6).tell().unwrap();
            })
            .await;
            assert_eq!(shop.stashed().await, Ok(0));
            assert_eq!(read(&served), [1, 2, 3, 4, 5, 6]);
        });
    }
}

// [G-STASH-1]
#[test]
fn an_argument_may_decide() {
    everywhere(async |system| {
        let (shop, served) = shop(system).await;
        let mut odd = Box::pin(async { shop.buy_later(101).await });
        assert!(crate::support::poll_once(&mut odd).is_pending());
        assert_eq!(shop.buy_later(102).await, Ok(102));
        assert_eq!(shop.open().await, Ok(1));
        assert_eq!(soon(odd).await, Ok(101));
        assert_eq!(read(&served), [102, 101]);
    });
}

// [G-STASH-2] [G-DELIVERY-1]
#[test]
fn what_finds_no_room_in_the_stash_is_refused() {
    everywhere(async |system| {
        let (shop, served) = shop(system).await;
        let mut letters = system.dead_letters();
        for number in 1..=4 {
            shop.serve(number).await.unwrap();
        }
        shop.serve(5).await.unwrap();
        assert_eq!(shop.buy(6).await, Err(AskError::Refused));
        shop.tell(Order(7)).await.unwrap();
        assert_eq!(shop.stashed().await, Ok(4));
        for _ in 0..2 {
            let letter = soon(letters.next()).await.unwrap();
            assert_eq!((letter.actor, letter.reason), (shop.id(), DeadLetterReason::StashFull));
            assert!(letter.message.ends_with("ShopMessage"), "{}", letter.message);
        }
        assert_eq!(read(&served), [1007], "its handler had it back");
        assert_eq!(shop.open().await, Ok(4));
        assert_eq!(shop.buy(8).await, Ok(80));
        assert_eq!(read(&served), [1007, 1, 2, 3, 4, 8]);
        assert_eq!(system.counts().dead_stash_full, 2);
        assert_eq!(letters.try_next().map(|letter| letter.reason), None);
    });
}

// [G-STASH-3] [G-ASK-1]
#[test]
fn what_is_stashed_when_its_actor_ends_is_a_dead_letter() {
    everywhere(async |system| {
        for end in [Ref::<Shop>::stop, Ref::<Shop>::drain, Ref::<Shop>::kill] {
            let (shop, served) = shop(system).await;
            let mut letters = system.dead_letters();
            shop.serve(1).await.unwrap();
            shop.tell(Order(2)).await.unwrap();
            let mut bought = Box::pin(async { shop.buy(3).await });
            assert!(crate::support::poll_once(&mut bought).is_pending());
            while shop.stashed().await != Ok(3) {}
            end(&shop);
            assert_eq!(soon(bought).await, Err(AskError::NoReply));
            soon(shop.ended()).await;
            let mut names = Vec::new();
            for _ in 0..3 {
                let letter = soon(letters.next()).await.unwrap();
                assert_eq!(letter.reason, DeadLetterReason::Stopped);
                names.push(letter.message.rsplit("::").next().unwrap().to_owned());
            }
            assert_eq!(names, ["ShopMessage", "Order", "ShopMessage"]);
            assert_eq!(read(&served), []);
        }
    });
}

// [G-STASH-3] [G-STOP-2]
#[test]
fn a_drain_handles_what_comes_back_in_time() {
    for scheduler in crate::support::SCHEDULERS {
        on(1, scheduler(), async |system| {
            let (shop, served) = shop(system).await;
            at_once(system, || {
                shop.serve(1).tell().unwrap();
                shop.serve(2).tell().unwrap();
                let _ = crate::support::poll_once(&mut Box::pin(async { shop.open().await }));
                shop.serve(3).tell().unwrap();
                shop.drain();
            })
            .await;
            soon(shop.ended()).await;
            assert_eq!(read(&served), [1, 2, 3]);
            assert_eq!(system.counts().dead_stopped, 0);
        });
    }
}

// [G-STASH-5] [G-DELIVERY-1]
#[test]
fn what_a_handler_puts_aside_outlives_its_panic() {
    everywhere(async |system| {
        let (shop, served) = shop(system).await;
        let mut letters = system.dead_letters();
        shop.tell(Torn(7)).await.unwrap();
        assert_eq!(shop.buy_later(8).await, Ok(8));
        assert_eq!(read(&served), [7, 7, 8]);
        assert_eq!(letters.try_next().map(|letter| letter.reason), Some(DeadLetterReason::Crashed));
        assert_eq!(letters.try_next().map(|letter| letter.reason), None);
    });
}

// [G-STASH-4] [G-RESTART-2]
#[test]
fn a_restart_keeps_what_is_stashed_before_newer_mail() {
    for scheduler in crate::support::SCHEDULERS {
        on(1, scheduler(), async |system| {
            let (shop, served) = shop(system).await;
            at_once(system, || {
                shop.serve(1).tell().unwrap();
                shop.serve(2).tell().unwrap();
                shop.crash().tell().unwrap();
                shop.serve(3).tell().unwrap();
                let _ = crate::support::poll_once(&mut Box::pin(async { shop.open().await }));
                // What has come back and was not handled before the crash stays before newer mail, too.
                shop.shut().tell().unwrap();
                shop.serve(4).tell().unwrap();
                shop.crash().tell().unwrap();
                let _ = crate::support::poll_once(&mut Box::pin(async { shop.open().await }));
            })
            .await;
            assert_eq!(shop.buy(5).await, Ok(50));
            assert_eq!(read(&served), [1, 2, 3, 4, 5]);
            let counts = system.counts();
            assert_eq!((counts.restarts, counts.dead_crashed, counts.dead_stopped), (2, 2, 0));
        });
    }
}

// [G-ASK-1] [G-DEADLINE-1]

// [G-DEADLINE-2]

// [G-DEADLINE-2] [G-STASH-3]

/// Has room for one message, and is asked to be open by a second.
#[derive(Actor)]
#[actor(stash = 10, mailbox = bounded(1, full = reject))]
struct Narrow {
    is_open: bool,
    served: u32,
}

#[handlers]
impl Narrow {
    #[tell]
    #[stash(while = !self.is_open)]
    fn serve(&mut self) {
        self.served += 1;
    }
    #[ask]
    fn open(&mut self, cx: &mut Context<Self>) -> usize {
        self.is_open = true;
        cx.unstash()
    }
    #[ask]
    fn served(&self) -> u32 {
        self.served
    }
}

// [G-STASH-2] [G-BOUND-1]
#[test]
fn what_is_stashed_takes_no_room_in_the_mailbox() {
    everywhere(async |system| {
        let narrow = Narrow { is_open: false, served: 0 };
        let narrow = system.spawn::<Narrow>(narrow).await.unwrap();
        for _ in 0..10 {
            narrow.serve().await.unwrap();
        }
        assert_eq!(narrow.open().await, Ok(10));
        assert_eq!(narrow.served().await, Ok(10));
    });
}

/// Brings all back with each message, and puts more aside than it may; ends with the hundredth.
#[derive(Actor)]
#[actor(stash = 4)]
struct Hoarder {
    turns: u32,
}

#[handlers]
impl Hoarder {}

impl Handle<Order> for Hoarder {
    fn handle(&mut self, order: Order, cx: &mut Context<Self>) {
        cx.unstash();
        for _ in 0..8 {
            let _ = cx.stash(Order(order.0));
        }
        self.turns += 1;
        if self.turns == 100 {
            cx.stop();
        }
    }
}

// [G-STASH-2] [G-STASH-3]
#[test]
fn what_was_brought_back_takes_room_until_its_turn() {
    everywhere(async |system| {
        let hoarder = system.spawn::<Hoarder>(Hoarder { turns: 0 }).await.unwrap();
        for number in 0..2 {
            hoarder.tell(Order(number)).await.unwrap();
        }
        soon(hoarder.ended()).await;
        assert_eq!(system.counts().dead_stopped, 4);
    });
}

/// Unstashes its own mail one by one, and hears of silence.
#[derive(Actor)]
#[actor(stash = 100)]
struct Slow {
    left: u32,
    calls: tokio::sync::mpsc::UnboundedSender<u32>,
}

#[handlers]
impl Slow {
    #[tell]
    #[stash(while = self.left > 0)]
    async fn wait(&mut self, time: Duration, cx: &mut Context<Self>) {
        tokio::time::sleep(time).await;
        self.left += 1;
        cx.unstash();
        self.left -= 1;
    }
    #[tell]
    fn begin(&mut self, span: Duration, cx: &mut Context<Self>) {
        self.left = 0;
        cx.unstash();
        cx.receive_timeout(span, Self::silence);
    }
    #[local]
    fn silence(&mut self, cx: &mut Context<Self>) {
        let stashed = u32::try_from(cx.stashed()).unwrap();
        let _ = self.calls.send(stashed);
        cx.stop();
    }
}

// [G-TIMER-3]
#[test]
fn what_comes_back_is_mail_to_a_receive_timeout() {
    everywhere(async |system| {
        let (calls, mut called) = tokio::sync::mpsc::unbounded_channel();
        let slow = system.spawn::<Slow>(Slow { left: 1, calls }).await.unwrap();
        let mut letters = system.dead_letters();
        for _ in 0..10 {
            slow.wait(Duration::from_millis(4)).await.unwrap();
        }
        slow.begin(Duration::from_millis(10)).await.unwrap();
        assert_eq!(soon(called.recv()).await, Some(0));
        soon(slow.ended()).await;
        assert_eq!(letters.try_next().map(|letter| letter.reason), None, "all came first");
    });
}

/// Asleep until its first message; forgets whether it was open.
#[derive(Actor)]
#[actor(stash = 10)]
struct Guest {
    is_awake: bool,
    served: Served,
}

#[handlers]
impl Guest {
    #[start]
    fn start(served: Served, naps: Arc<Mutex<u32>>) -> Self {
        let mut naps = naps.lock();
        *naps += 1;
        Self { is_awake: *naps > 1, served }
    }
    #[tell]
    #[stash(while = !self.is_awake)]
    fn serve(&mut self, number: u32) {
        self.served.lock().push(number);
    }
    #[tell]
    fn sleep(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

// [G-STASH-4] [G-VIRTUAL-2]
#[test]
fn a_virtual_actor_wakes_up_for_what_it_had_stashed() {
    everywhere(async |system| {
        let (served, naps) = (Served::default(), Arc::new(Mutex::new(0)));
        let args = (Arc::clone(&served), Arc::clone(&naps));
        let guests = system.keyed::<u32, Guest>(move |_| args.clone());
        let guest = guests.get(7).unwrap();
        for number in 1..=3 {
            guest.serve(number).await.unwrap();
        }
        guest.sleep().await.unwrap();
        crate::support::until(|| read(&served) == [1, 2, 3]).await;
        assert_eq!(*naps.lock(), 2);
    });
}
