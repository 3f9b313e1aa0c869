//! The same calls lead to an actor of another node.

use crate::stage::{Book, BookApi, Place, SHORT, between, book, identity, once, open, shut};
use crate::support::{Builds, LONG, soon, until_async};
use greenroom::net::{ConnectError, Export, ExportError, LookupError, Loopback, Node};
use greenroom::{
    Actor, AskError, Context, MigrateError, Ref, Scheduler, System, TellError, Undelivered,
    handlers,
};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_reference_is_called_as_at_home() {
    between(Loopback::new, async |_, here, there| {
        let (near, far) = book(here, there, "book", open()).await;
        for number in 0..20 {
            far.note(7, number).await.unwrap();
        }
        let expected: Vec<_> = (0..20).map(|number| (7, number)).collect();
        // The question comes behind what was told before it.
        assert_eq!(soon(far.notes().into_future()).await, Ok(expected.clone()));
        assert_eq!(near.notes().await, Ok(expected));
        assert_eq!(far.divide(84, 2).await, Ok(42));
        let by_zero = far.divide(1, 0).await;
        assert_eq!(by_zero, Err(AskError::Failed("by zero".to_owned())));
        far.note(8, 1).try_send().unwrap();
        far.note(8, 2).tell().unwrap();
        until_async(async || far.notes().await.unwrap().len() == 22).await;
        assert!(!far.is_closed());
    });
}

#[test]
fn references_to_one_actor_are_one() {
    once(Loopback::new(), async |_, here, there| {
        let (near, far) = book(here, there, "book", open()).await;
        let peer = here.reach(there).await;
        assert_eq!(peer.identity(), there.node.identity());
        assert_eq!(here.node.peers(), [there.node.identity()]);
        let again = peer.find::<Book>("book").await.unwrap();
        assert_eq!(again, far);
        // By the protocol's name, and from one to the other.
        let api: Ref<BookApi> = peer.find("book").await.unwrap();
        api.note(1, 1).await.unwrap();
        let api: Ref<BookApi> = far.api();
        api.note(1, 2).await.unwrap();
        assert_eq!(far.notes().await.unwrap(), [(1, 1), (1, 2)]);
        // The other node reaches this one by the same connection.
        let (_, back) = book(there, here, "back", open()).await;
        assert_eq!(back.divide(9, 3).await, Ok(3));
        assert_eq!(here.node.peers().len(), 1);
        assert!(!far.stop() && !far.drain() && !far.kill(), "its own node ends it");
        assert_eq!(far.migrate(0), Err(MigrateError::Elsewhere), "and moves it");
        assert_eq!(near.divide(9, 3).await, Ok(3));
    });
}

// [G-REMOTE-8] [ENV-10]
#[test]
fn only_what_is_exported_is_found() {
    once(Loopback::new(), async |_, here, there| {
        let (near, _) = book(here, there, "book", open()).await;
        let hidden = there.system.spawn::<Book>(open()).named("hidden").await.unwrap();
        let peer = here.reach(there).await;
        let no_such = |name: &str| Err(LookupError::NoSuchName(name.to_owned()));
        assert_eq!(peer.find::<Book>("hidden").await, no_such("hidden"));
        let error = peer.find::<crate::stage::Watcher>("book").await.unwrap_err();
        let expected = "the actor exported as \"book\" speaks test.book, not test.watcher";
        assert_eq!(error.to_string(), expected);

        let export = || Export::of(&hidden);
        assert_eq!(
            there.node.export("book", export()),
            Err(ExportError::NameTaken("book".to_owned()))
        );
        assert_eq!(there.node.export("", export()), Err(ExportError::BadName(0)));
        let long = "x".repeat(256);
        assert_eq!(there.node.export(&long, export()), Err(ExportError::BadName(256)));
        there.node.export("hidden", export()).unwrap();
        let far = peer.find::<Book>("hidden").await.unwrap();
        there.node.withdraw("hidden");
        there.node.withdraw("hidden");
        assert_eq!(peer.find::<Book>("hidden").await, no_such("hidden"));
        assert_eq!(far.divide(8, 2).await, Ok(4), "who has found it keeps it");

        near.stop();
        near.ended().await;
        until_async(async || peer.find::<Book>("book").await.is_err()).await;
        assert_eq!(there.node.export("late", Export::of(&near)), Err(ExportError::Closed));
    });
}

#[test]
fn nodes_that_are_not_there_are_errors() {
    once(Loopback::new(), async |_, here, there| {
        let at = |text: &str| text.parse().unwrap();
        let nobody = here.node.connect(&at("loopback:nobody")).await.unwrap_err();
        assert_eq!(nobody.to_string(), "loopback:nobody is out of reach: no node is there");
        let itself = here.node.connect(&at("loopback:here")).await.unwrap_err();
        assert!(matches!(itself, ConnectError::Unreachable { .. }), "{itself}");
        let other = here.node.connect(&at("udp:127.0.0.1:1")).await.unwrap_err();
        assert_eq!(other, ConnectError::OtherScheme(at("udp:127.0.0.1:1")));
        there.node.close().await;
        let closed = here.node.connect(&at("loopback:there")).await.unwrap_err();
        assert!(matches!(closed, ConnectError::Unreachable { .. }), "{closed}");
        assert_eq!(
            there.node.connect(&at("loopback:here")).await.unwrap_err(),
            ConnectError::Closed
        );
        let ended = System::builder().workers(1).own();
        ended.shutdown(LONG).await.unwrap();
        Node::start(&ended, Loopback::new().node("late", identity("late"))).unwrap_err();
    });
}

// [G-REMOTE-7] [ENV-8] [ENV-9]
#[test]
fn an_ask_has_one_outcome_whatever_becomes_of_the_handler() {
    between(Loopback::new, async |_, here, there| {
        let (near, far) = book(here, there, "book", open()).await;
        let remaining = far.remaining_ms().within(Duration::from_secs(9)).await.unwrap();
        assert!((1..=9000).contains(&remaining), "the deadline travels on: {remaining} ms");
        assert_eq!(far.never().within(SHORT).await, Err(AskError::Expired));
        near.kill();
        // The end of an actor ends the question that it does not answer.
        let (near, far) = book(here, there, "second", open()).await;
        let mut asking = Box::pin(far.never().into_future());
        let _ = crate::support::poll_once(&mut asking);
        until_async(async || there.system.counts().started > 0).await;
        near.kill();
        assert!(matches!(
            soon(asking).await,
            Err(AskError::NoReply | AskError::Closed | AskError::Undelivered(_))
        ));
        let (_, far) = book(here, there, "third", open()).await;
        assert_eq!(far.panic().await, Err(AskError::NoReply));
        until_async(async || far.is_closed()).await;
        assert_eq!(far.divide(4, 2).await, Err(AskError::Closed));
        assert!(matches!(far.note(1, 1).await, Err(TellError::Closed(_))));
    });
}

/// Answers at any length.
#[derive(Actor)]
struct Printer;

#[handlers(wire = "test.printer/1")]
impl Printer {
    #[ask]
    fn print(&mut self, bytes: usize) -> String {
        "x".repeat(bytes)
    }
}

// [ENV-8]
#[test]
fn an_answer_that_no_link_takes_is_an_error_at_once() {
    // With room for one frame, answers wait in the backlog, too.
    for network in [Loopback::new(), Loopback::new().frames_max(1)] {
        once(network, async |_, here, there| {
            let printer = there.system.spawn::<Printer>(Printer).await.unwrap();
            there.node.export("printer", Export::of(&printer)).unwrap();
            let far: Ref<Printer> = here.reach(there).await.find("printer").await.unwrap();
            let ask = |bytes| {
                let asked = far.print(bytes).within(LONG * 10).into_future();
                async { soon(asked).await.map(|text| text.len()) }
            };
            let long = 17 << 20;
            let lengths = tokio::join!(ask(1), ask(long), ask(2), ask(long));
            let too_large = || Err(AskError::Undelivered(Undelivered::TooLarge));
            assert_eq!(lengths, (Ok(1), too_large(), Ok(2), too_large()));
        });
    }
}

/// Asks the next one.
#[derive(Actor)]
struct Relay {
    next: Ref<Book>,
}

#[handlers(wire = "test.relay/1")]
impl Relay {
    #[ask]
    async fn remaining_ms(&mut self, cx: &mut Context<Self>) -> Result<u64, String> {
        let asked = self.next.remaining_ms().within(cx.remaining()).await;
        asked.map_err(|error| error.to_string())
    }
}

#[test]
fn a_deadline_travels_over_three_nodes() {
    let network = Loopback::new();
    let [first, second, third] =
        ["one", "two", "three"].map(|name| Place::new(&network, name, Scheduler::per_core()));
    crate::support::run(async {
        let (_, next) = book(&second, &third, "book", open()).await;
        let relay = second.system.spawn::<Relay>(Relay { next }).await.unwrap();
        second.node.export("relay", Export::of(&relay)).unwrap();
        let relay = first.reach(&second).await.find::<Relay>("relay").await.unwrap();
        let remaining = relay.remaining_ms().within(Duration::from_secs(8)).await.unwrap();
        assert!((1..=8000).contains(&remaining), "{remaining} ms");
        // When the far connection goes, the near one stays, and says what happened.
        network.cut("two", "three");
        let gone = soon(relay.remaining_ms().into_future()).await;
        let Err(AskError::Failed(text)) = gone else { panic!("{gone:?}") };
        assert!(
            text == AskError::<String>::Closed.to_string()
                || text == AskError::<String>::NoReply.to_string()
                || text == AskError::<String>::Undelivered(Undelivered::NodeDown).to_string(),
            "{text}"
        );
        for place in [first, second, third] {
            place.shut().await;
        }
    });
}

// [G-REMOTE-6] [ENV-11]
#[test]
fn a_full_mailbox_holds_its_own_senders_back_and_nobody_else() {
    between(
        || Loopback::new().frames_max(16),
        async |_, here, there| {
            let gate = shut();
            let (near, far) = book(here, there, "slow", Arc::clone(&gate)).await;
            let (_, other) = book(here, there, "other", open()).await;
            let mut accepted = 0_u64;
            let mut refused = 0;
            // Until nothing has found room for a while.
            while refused < 50 {
                match far.note(1, accepted).try_send() {
                    Ok(()) => (accepted, refused) = (accepted + 1, 0),
                    Err(TellError::Full(_)) => {
                        refused += 1;
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            // One in the handler, 4 in the mailbox, 128 under way, 64 in the proxy's hands, 256 behind them.
            assert!((5..=4 + 1 + 128 + 64 + 256 + 1).contains(&accepted), "{accepted} accepted");
            for number in 0..200 {
                soon(other.note(2, number).into_future()).await.unwrap();
            }
            assert_eq!(soon(other.notes().into_future()).await.unwrap().len(), 200);
            gate.add_permits(1);
            let expected: Vec<_> = (0..accepted).map(|number| (1, number)).collect();
            until_async(async || near.notes().await.unwrap().len() == expected.len()).await;
            assert_eq!(near.notes().await.unwrap(), expected);
            soon(far.note(1, accepted).into_future()).await.unwrap();
        },
    );
}

// [G-REMOTE-1] [G-REMOTE-2]
#[test]
fn each_senders_messages_come_once_and_in_order() {
    #[derive(Actor)]
    struct Sender {
        to: Ref<Book>,
        number: u32,
    }
    #[handlers]
    impl Sender {
        #[ask]
        async fn send(&mut self, count: u64) {
            for number in 0..count {
                self.to.note(self.number, number).await.unwrap();
            }
        }
    }
    between(
        || Loopback::new().frames_max(3),
        async |_, here, there| {
            let (_, far) = book(here, there, "book", open()).await;
            let mut sending = Vec::new();
            for number in 0..4 {
                let sender = Sender { to: far.clone(), number };
                let sender = here.system.spawn::<Sender>(sender).await.unwrap();
                sending.push(tokio::spawn(async move { sender.send(150).await }));
            }
            for sending in sending {
                soon(sending).await.unwrap().unwrap();
            }
            // This thread is another sender: its question may overtake the last of them.
            until_async(async || far.notes().await.unwrap().len() == 600).await;
            let notes = far.notes().await.unwrap();
            for sender in 0..4 {
                let own =
                    notes.iter().filter(|(from, _)| *from == sender).map(|(_, number)| *number);
                assert!(own.eq(0..150), "sender {sender}");
            }
        },
    );
}

#[test]
fn a_node_that_closes_sends_what_was_told() {
    once(Loopback::new().frames_max(2), async |_, here, there| {
        let (near, far) = book(here, there, "book", open()).await;
        for number in 0..50 {
            far.note(1, number).await.unwrap();
        }
        soon(here.node.close()).await;
        assert!(far.is_closed());
        until_async(async || near.notes().await.unwrap().len() == 50).await;
        assert!(here.node.peers().is_empty());
    });
}
