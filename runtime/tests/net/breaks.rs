//! What is told and reported when an actor of another node ends, or the connection to it.

use crate::stage::{
    Book, Log, Place, Seen, Unwatch, Watch, Watcher, between, book, once, open, shut,
};
use crate::support::{LONG, poll_once, soon, until, until_async};
use greenroom::net::{Export, Loopback};
use greenroom::{Actor, AskError, DeadLetterReason, ExitReason, Ref, Reply, Undelivered, handlers};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A watcher on this node of that book.
async fn watcher(place: &Place, of: &Ref<Book>) -> Ref<Watcher> {
    let watcher = place.system.spawn::<Watcher>(()).await.unwrap();
    watcher.ask(Log).await.unwrap();
    watcher.tell(Watch(of.clone())).await.unwrap();
    // When this is answered, it watches: what ends before that would be `NoActor`.
    watcher.ask(Log).await.unwrap();
    watcher
}

async fn log(watcher: &Ref<Watcher>) -> Vec<Seen> {
    watcher.ask(Log).await.unwrap()
}

// [G-REMOTE-5] [ENV-12]
#[test]
fn the_end_of_an_actor_is_told_once_with_its_reason() {
    between(Loopback::new, async |_, here, there| {
        let (near, far) = book(here, there, "stops", open()).await;
        let (_, fails) = book(here, there, "fails", open()).await;
        let first = watcher(here, &far).await;
        let second = watcher(here, &far).await;
        let third = watcher(here, &fails).await;
        let gone = watcher(here, &far).await;
        gone.tell(Unwatch).await.unwrap();
        fails.fail("no more paper".to_owned()).await.unwrap();
        assert!(log(&gone).await.is_empty());
        near.stop();
        soon(far.ended()).await;
        let failed = Seen::Down(ExitReason::Failed("no more paper".to_owned()));
        until_async(async || log(&third).await == [failed.clone()]).await;
        for watcher in [&first, &second] {
            until_async(async || log(watcher).await == [Seen::Down(ExitReason::Stopped)]).await;
        }
        let late = watcher(here, &far).await;
        until_async(async || log(&late).await == [Seen::Down(ExitReason::NoActor)]).await;
        assert!(log(&gone).await.is_empty());
        assert_eq!(log(&first).await.len(), 1);
    });
}

#[test]
fn a_connection_that_the_other_node_has_closed_can_be_closed_while_mail_waits() {
    between(Loopback::new, async |_, here, there| {
        let gate = shut();
        let (_, far) = book(here, there, "slow", Arc::clone(&gate)).await;
        // One is handled, 4 are in the mailbox, and the others wait for room.
        for number in 0..20 {
            soon(far.note(1, number).into_future()).await.unwrap();
        }
        let peer = there.node.peers()[0].node;
        let peer = there.node.peer(peer).unwrap();
        soon(here.node.close()).await;
        soon(peer.close()).await;
        gate.add_permits(1);
    });
}

/// Tells another what it is told, and can be stopped in the middle of it.
#[derive(Actor)]
struct Speaker {
    to: Ref<Watcher>,
}

#[handlers(wire = "test.speaker/1")]
impl Speaker {
    #[tell]
    async fn speak(&mut self, count: u64, cx: &mut greenroom::Context<Self>) {
        for number in 0..count {
            self.to.told(number).await.unwrap();
        }
        cx.stop();
    }
}

/// Watches a [`Speaker`].
#[derive(greenroom::Message)]
struct Hear(Ref<Speaker>);

impl greenroom::Handle<Hear> for Watcher {
    fn handle(&mut self, message: Hear, cx: &mut greenroom::Context<Self>) {
        cx.watch(&message.0, Self::down);
    }
}

// [G-REMOTE-5] [ENV-12]: though the way is narrow and the proxy's mailbox holds many of them.
#[test]
fn the_end_of_an_actor_comes_after_the_last_it_said() {
    between(
        || Loopback::new().frames_max(1),
        async |_, here, there| {
            let watcher = here.system.spawn::<Watcher>(()).await.unwrap();
            here.node.export("watcher", Export::of(&watcher)).unwrap();
            let to = there.reach(here).await.find::<Watcher>("watcher").await.unwrap();
            let speaker = there.system.spawn::<Speaker>(Speaker { to }).await.unwrap();
            there.node.export("speaker", Export::of(&speaker)).unwrap();
            let far = here.reach(there).await.find::<Speaker>("speaker").await.unwrap();
            watcher.tell(Hear(far.clone())).await.unwrap();
            watcher.ask(Log).await.unwrap();
            far.speak(60).await.unwrap();
            soon(far.ended()).await;
            until_async(async || watcher.ask(Log).await.unwrap().len() > 60).await;
            let mut expected: Vec<_> = (0..60).map(Seen::Told).collect();
            expected.push(Seen::Down(ExitReason::Stopped));
            assert_eq!(watcher.ask(Log).await.unwrap(), expected);
        },
    );
}

// [G-REMOTE-7] [G-REMOTE-3]
#[test]
fn what_may_not_have_arrived_at_a_break_is_reported() {
    between(
        || Loopback::new().frames_max(8),
        async |network, here, there| {
            let mut letters = here.system.dead_letters();
            let gate = shut();
            let (near, far) = book(here, there, "book", Arc::clone(&gate)).await;
            let watcher = watcher(here, &far).await;
            let mut accepted = 0;
            while accepted < 30 {
                far.note(1, accepted).await.unwrap();
                accepted += 1;
            }
            let mut asking = Box::pin(far.notes().into_future());
            let _ = poll_once(&mut asking);
            // Of these the other node takes at most one more out of the pipe.
            network.cut("here", "there");
            let outcome = soon(asking).await;
            assert_eq!(outcome, Err(AskError::Undelivered(Undelivered::NodeDown)));
            until_async(async || log(&watcher).await == [Seen::Down(ExitReason::NodeDown)]).await;
            soon(far.ended()).await;
            gate.add_permits(1);
            // Whatever has not arrived by now never will; the other node reports what it had parked.
            until(|| there.node.peers().is_empty() && here.node.peers().is_empty()).await;
            let mut handled = near.notes().await.unwrap();
            until_async(async || {
                let before = std::mem::replace(&mut handled, near.notes().await.unwrap());
                before.len() == handled.len()
            })
            .await;
            let prefix: Vec<_> = (0..handled.len() as u64).map(|number| (1, number)).collect();
            assert_eq!(handled, prefix, "no holes");
            let (mut maybe, mut never) = (0, 0);
            while let Some(letter) = letters.try_next() {
                match letter.reason {
                    DeadLetterReason::MaybeDelivered => maybe += 1,
                    _ => never += 1,
                }
            }
            let parked = there.system.counts().undelivered;
            let missing = accepted - handled.len() as u64;
            assert!(maybe + never + parked >= missing, "{maybe} + {never} + {parked} < {missing}");
            assert_eq!(here.system.counts().maybe_delivered, maybe);

            // Connected anew, the actor is found anew; the old reference stays closed.
            let peer = here.reach(there).await;
            let again = peer.find::<Book>("book").await.unwrap();
            assert_ne!(again, far);
            again.note(2, 0).await.unwrap();
            until_async(async || again.notes().await.unwrap().last() == Some(&(2, 0))).await;
            assert!(far.is_closed());
        },
    );
}

#[test]
fn a_link_to_another_node_works_one_way() {
    #[derive(Actor)]
    struct Linked {
        to: Ref<Book>,
    }
    #[handlers]
    impl Linked {
        #[start]
        fn start(to: Ref<Book>, cx: &mut greenroom::Context<Self>) -> Self {
            cx.link(&to);
            Self { to }
        }
        #[ask]
        async fn divide(&mut self) -> u64 {
            self.to.divide(9, 3).await.unwrap()
        }
        #[tell]
        fn fail(&mut self, cx: &mut greenroom::Context<Self>) {
            cx.fail("by itself");
        }
    }
    once(Loopback::new(), async |network, here, there| {
        let (_, far) = book(here, there, "book", open()).await;
        let fails = here.system.spawn::<Linked>(far.clone()).await.unwrap();
        let stays = here.system.spawn::<Linked>(far.clone()).await.unwrap();
        fails.fail().await.unwrap();
        soon(fails.ended()).await;
        assert_eq!(stays.divide().await, Ok(3), "the reference is everybody's");
        let mut events = here.system.events();
        network.cut("here", "there");
        let reason = crate::support::exit_of(&stays, &mut events).await;
        let ExitReason::Linked { reason, .. } = reason else { panic!("{reason:?}") };
        assert_eq!(*reason, ExitReason::NodeDown);
    });
}

#[test]
fn a_shutdown_does_not_wait_for_room_at_another_node() {
    once(Loopback::new().frames_max(1), async |_, here, there| {
        let gate = shut();
        let (near, far) = book(here, there, "book", Arc::clone(&gate)).await;
        let mut refused = 0;
        while refused < 50 {
            match far.note(1, 1).try_send() {
                Ok(()) => refused = 0,
                Err(_) => refused += 1,
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        soon(here.system.shutdown(LONG)).await.unwrap();
        assert!(far.is_closed());
        gate.add_permits(1);
        until(|| there.node.peers().is_empty()).await;
        assert!(!near.notes().await.unwrap().is_empty());
    });
}

/// Hands questions on to a book.
#[derive(Actor)]
struct Desk {
    book: Ref<Book>,
}

#[handlers]
impl Desk {
    #[ask]
    async fn notes(&self, reply: Reply<Vec<(u32, u64)>>) {
        reply.forward(self.book.notes()).await;
    }
    #[ask]
    fn has_handed_on(&self) -> bool {
        true
    }
}

type Notes = Result<Vec<(u32, u64)>, AskError>;

/// What becomes of questions to a book with a shut gate when `end` comes. Most of them wait for their turn at this node;
/// the second half came by another actor.
async fn outcomes_after(
    here: &Place,
    there: &Place,
    end: impl AsyncFnOnce(&Ref<Book>),
) -> Vec<Notes> {
    let gate = shut();
    let (near, far) = book(here, there, "shut", Arc::clone(&gate)).await;
    let desk = here.system.spawn::<Desk>(Desk { book: far.clone() }).await.unwrap();
    far.note(1, 1).await.unwrap();
    let mut asking: Vec<Pin<Box<dyn Future<Output = Notes>>>> = Vec::new();
    for number in 0..120 {
        let (far, desk) = (far.clone(), desk.clone());
        asking.push(if number < 60 {
            Box::pin(async move { far.notes().await })
        } else {
            Box::pin(async move { desk.notes().await })
        });
        assert!(poll_once(asking.last_mut().unwrap()).is_pending());
    }
    // Asked behind the questions that it hands on.
    assert!(soon(desk.has_handed_on().into_future()).await.unwrap());
    end(&near).await;
    let mut outcomes = Vec::new();
    for asking in asking {
        outcomes.push(soon(asking).await);
    }
    gate.add_permits(1);
    soon(far.ended()).await;
    outcomes
}

// [G-REMOTE-7]
#[test]
fn who_waits_to_ask_hears_that_the_connection_ended() {
    let down = Err(AskError::Undelivered(Undelivered::NodeDown));
    between(Loopback::new, async |network, here, there| {
        let cut = outcomes_after(here, there, async |_| network.cut("here", "there")).await;
        assert!(cut.iter().all(|outcome| *outcome == down), "{cut:?}");
    });
    between(Loopback::new, async |_, here, there| {
        let closed = outcomes_after(here, there, async |_| there.node.close().await).await;
        assert!(closed.iter().all(|outcome| *outcome == down), "{closed:?}");
    });
    between(Loopback::new, async |_, here, there| {
        let closed = outcomes_after(here, there, async |_| here.node.close().await).await;
        assert!(closed.iter().all(|outcome| *outcome == down), "{closed:?}");
    });
}

// [G-REMOTE-7]
#[test]
fn who_waits_to_ask_hears_that_the_actor_ended() {
    between(Loopback::new, async |_, here, there| {
        let outcomes = outcomes_after(here, there, async |near| assert!(near.kill())).await;
        let sent = outcomes.iter().filter(|outcome| **outcome == Err(AskError::NoReply)).count();
        let (sent, waited) = outcomes.split_at(sent);
        assert!(sent.iter().all(|outcome| *outcome == Err(AskError::NoReply)), "{sent:?}");
        assert!(waited.iter().all(|outcome| *outcome == Err(AskError::Closed)), "{waited:?}");
        assert!(waited.len() >= 100, "{} of them had waited", waited.len());
    });
}
