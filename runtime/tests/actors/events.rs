//! What a system tells of itself: events, dead letters and counts.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{Builds, LONG, everywhere, hold_worker, on, poll_once, soon};
use greenroom::{
    Actor, AskError, Context, DeadLetterReason, Event, EventStream, ExitReason, Ref, Scheduler,
    TellError, handlers,
};
use std::future::IntoFuture;
use tokio::sync::oneshot;

#[derive(Actor, Clone, Default)]
#[actor(restart = transient(9 in "1h"))]
struct Clerk {
    done: u32,
}

#[handlers]
impl Clerk {
    #[tell]
    fn file(&mut self, good: bool) -> Result<(), String> {
        self.done += 1;
        if good { Ok(()) } else { Err(format!("no place for {}", self.done)) }
    }
    #[tell]
    async fn file_later(&mut self) -> Result<(), std::fmt::Error> {
        tokio::task::yield_now().await;
        self.done += 1;
        Err(std::fmt::Error)
    }
    #[ask]
    fn done(&self) -> u32 {
        self.done
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
    #[tell]
    fn give_up(&mut self, cx: &mut Context<Self>) {
        cx.fail("too much");
    }
    #[tell]
    async fn wait(&mut self, entered: oneshot::Sender<()>) {
        let _ = entered.send(());
        std::future::pending::<()>().await;
    }
}

// Actors with room for two.
macro_rules! small {
    ($name:ident, $($full:tt)+) => {
        #[derive(Actor)]
        #[actor(mailbox = bounded(2, $($full)+))]
        struct $name;

        #[handlers]
        impl $name {
            #[tell]
            fn take(&mut self) {}
        }
    };
}

small!(Rejecting, full = reject);
small!(DroppingNewest, full = drop_newest);
small!(DroppingOldest, full = drop_oldest);

/// What is told of one actor, shortly.
async fn story(events: &mut EventStream, of: &Ref<Clerk>) -> Vec<String> {
    let mut story = Vec::new();
    loop {
        let line = match soon(events.next()).await.expect("the system lives") {
            Event::Started { actor, incarnation } if actor == of.id() => {
                format!("started {incarnation}")
            }
            Event::Restarting { actor, reason, delay } if actor == of.id() => {
                format!("restarting after {delay:?}: {reason}")
            }
            Event::TellFailed { actor, handler, error } if actor == of.id() => {
                format!("{handler}: {error}")
            }
            Event::Ended { actor, reason } if actor == of.id() => {
                story.push(format!("ended: {reason}"));
                return story;
            }
            _ => continue,
        };
        story.push(line);
    }
}

/// Has nothing to say of itself.
struct Mute;

impl std::fmt::Display for Mute {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("as told")
    }
}

#[derive(Actor)]
struct Unsaid;

#[handlers]
impl Unsaid {
    #[tell]
    fn fail(&mut self) -> Result<(), Mute> {
        Err(Mute)
    }
    #[ask]
    fn lives(&self) -> bool {
        true
    }
}

/// [G-TELL-1]
#[test]
fn an_error_whose_text_panics_ends_nobody_whoever_listens() {
    everywhere(async |system| {
        let unsaid = system.spawn::<Unsaid>(Unsaid).await.unwrap();
        unsaid.fail().await.unwrap();
        assert_eq!(unsaid.lives().within(LONG).await, Ok(true), "nobody listens");
        let mut events = system.events();
        unsaid.fail().await.unwrap();
        assert_eq!(unsaid.lives().within(LONG).await, Ok(true), "somebody listens");
        let text = loop {
            if let Event::TellFailed { error, .. } = soon(events.next()).await.unwrap() {
                break error;
            }
        };
        assert_eq!(text, "an error whose text panics");
        assert_eq!(system.counts().restarts, 0);
    });
}

#[test]
fn the_events_of_an_actor_tell_its_life_in_order() {
    everywhere(async |system| {
        let (mut first, mut second) = (system.events(), system.events());
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        clerk.file(true).await.unwrap();
        clerk.fall().await.unwrap();
        clerk.file(false).await.unwrap();
        clerk.give_up().await.unwrap();
        clerk.file_later().await.unwrap();
        clerk.drain();
        let story_told = story(&mut first, &clerk).await;
        let filed_later = format!("file_later: {}", std::fmt::Error);
        assert_eq!(
            story_told,
            [
                "started 0",
                "restarting after 0ns: panicked: as told",
                "started 1",
                "file: no place for 1",
                "restarting after 0ns: failed: too much",
                "started 2",
                &filed_later,
                "ended: drained",
            ]
        );
        assert_eq!(story(&mut second, &clerk).await, story_told, "each subscriber is told all");
    });
}

// [G-TELL-1]
#[test]
fn an_error_of_a_told_handler_is_an_event_and_no_end() {
    everywhere(async |system| {
        let mut events = system.events();
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        for _ in 0..10 {
            clerk.file(false).await.unwrap();
            clerk.file_later().await.unwrap();
        }
        assert_eq!(clerk.done().await, Ok(20), "it is the same incarnation");
        let counts = system.counts();
        assert_eq!((counts.tell_failures, counts.restarts, counts.ended), (20, 0, 0));
        assert_eq!((counts.panics, counts.dead_crashed), (0, 0));
        clerk.stop();
        let story = story(&mut events, &clerk).await;
        assert_eq!(story.len(), 1 + 20 + 1);
        assert_eq!(story[1], "file: no place for 1");
        assert!(story[2].starts_with("file_later: "), "{}", story[2]);
    });
}

#[test]
fn a_subscriber_hears_what_comes_after_it() {
    on(1, Scheduler::locked(), async |system| {
        let before = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let mut events = system.events();
        let mut letters = system.dead_letters();
        before.stop();
        let story = story(&mut events, &before).await;
        assert_eq!(story, ["ended: stopped"]);
        assert!(letters.try_next().is_none());
    });
}

#[test]
fn a_stream_ends_with_its_system() {
    on(1, Scheduler::locked(), async |_| {
        let system = greenroom::System::builder().workers(1).own();
        let (mut events, mut letters) = (system.events(), system.dead_letters());
        system.shutdown(LONG).await.unwrap();
        drop(system);
        assert!(soon(events.next()).await.is_none());
        assert!(soon(letters.next()).await.is_none());
    });
}

/// Events and letters that a subscriber may be behind.
const BACKLOG: u64 = 1024;

#[test]
fn a_subscriber_that_falls_behind_learns_how_many_letters_it_missed() {
    on(1, Scheduler::locked(), async |system| {
        let mut letters = system.dead_letters();
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let hold = hold_worker(system).await;
        for _ in 0..BACKLOG + 100 {
            clerk.file(true).try_send().unwrap();
        }
        clerk.stop();
        drop(hold);
        soon(clerk.ended()).await;
        let mut seen = 0;
        while let Some(letter) = letters.try_next() {
            assert_eq!((letter.actor, letter.reason), (clerk.id(), DeadLetterReason::Stopped));
            assert!(letter.message.ends_with("ClerkMessage"), "{}", letter.message);
            seen += 1;
        }
        assert_eq!(seen + letters.missed(), BACKLOG + 100);
        assert!(letters.missed() > 0);
        assert_eq!(system.counts().dead_stopped, BACKLOG + 100, "all are counted");
    });
}

#[test]
fn a_listener_that_falls_behind_goes_on_with_what_is_left() {
    on(1, Scheduler::locked(), async |system| {
        let mut events = system.events();
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        for _ in 0..BACKLOG + 100 {
            clerk.file(false).await.unwrap();
        }
        clerk.drain();
        soon(clerk.ended()).await;
        let story = story(&mut events, &clerk).await;
        assert!(story.len() as u64 <= BACKLOG, "{}", story.len());
        assert!(story[0].starts_with("file: "), "what came first is gone: {}", story[0]);
        assert_eq!(story.last().unwrap(), "ended: drained");
        assert_eq!(system.counts().tell_failures, BACKLOG + 100, "all are counted");
    });
}

#[test]
fn an_actor_is_named_by_its_type_and_number() {
    on(1, Scheduler::locked(), async |system| {
        let one = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let other = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        assert_eq!(one.id().to_string(), format!("Clerk#{}", one.id().number()));
        assert!(one.id().kind().ends_with("::Clerk"), "{}", one.id().kind());
        assert_ne!(one.id(), other.id());
        assert_ne!(one.id().number(), other.id().number());
        assert_eq!(one.id(), one.clone().id());
    });
}

#[test]
fn lives_are_counted() {
    everywhere(async |system| {
        let clerks = [
            system.spawn::<Clerk>(Clerk::default()).await.unwrap(),
            system.spawn::<Clerk>(Clerk::default()).await.unwrap(),
            system.spawn::<Clerk>(Clerk::default()).await.unwrap(),
        ];
        clerks[0].fall().await.unwrap();
        clerks[0].give_up().await.unwrap();
        assert_eq!(clerks[0].done().await, Ok(0));
        let (entered, is_in) = oneshot::channel();
        clerks[1].wait(entered).await.unwrap();
        soon(is_in).await.unwrap();
        clerks[1].file(true).await.unwrap();
        clerks[1].kill();
        soon(clerks[1].ended()).await;
        let Err(TellError::Closed(_)) = clerks[1].file(true).await else { panic!("it is gone") };
        assert_eq!(clerks[1].done().await, Err(AskError::Closed));
        clerks[2].stop();
        soon(clerks[2].ended()).await;

        let counts = system.counts();
        assert_eq!((counts.started, counts.restarts, counts.ended), (3, 2, 2));
        assert_eq!((counts.panics, counts.dead_crashed), (1, 2), "one panicked, one was killed");
        assert_eq!(counts.dead_stopped, 1);
        assert_eq!(counts.rejected_closed, 2, "one told, one asked");
        system.shutdown(LONG).await.unwrap();
        assert_eq!(system.counts().ended, 3);
    });
}

#[test]
fn overflows_are_counted_by_what_became_of_them() {
    on(1, Scheduler::locked(), async |system| {
        let rejecting = system.spawn::<Rejecting>(Rejecting).await.unwrap();
        let newest = system.spawn::<DroppingNewest>(DroppingNewest).await.unwrap();
        let oldest = system.spawn::<DroppingOldest>(DroppingOldest).await.unwrap();
        let hold = hold_worker(system).await;
        for number in 0..5 {
            assert_eq!(rejecting.take().tell().is_ok(), number < 2);
            newest.take().tell().unwrap();
            oldest.take().tell().unwrap();
        }
        let counts = system.counts();
        assert_eq!((counts.rejected_full, counts.rejected_closed), (3, 0));
        assert_eq!((counts.dropped_newest, counts.dropped_oldest), (3, 3));
        drop(hold);
    });
}

#[test]
fn a_reply_that_nobody_waits_for_is_counted() {
    on(1, Scheduler::stealing(), async |system| {
        let clerk = system.spawn::<Clerk>(Clerk::default()).await.unwrap();
        let hold = hold_worker(system).await;
        for _ in 0..2 {
            let mut asking = clerk.done().into_future();
            assert!(poll_once(&mut asking).is_pending());
        }
        drop(hold);
        system.await_idle(LONG).await.unwrap();
        assert_eq!(clerk.done().await, Ok(0));
        assert_eq!(system.counts().late_replies, 2);
    });
}

#[test]
fn a_failed_start_is_an_end_and_no_start() {
    on(1, Scheduler::locked(), async |system| {
        let mut events = system.events();
        assert!(system.spawn::<Absent>(()).await.is_err());
        let Some(Event::Ended { actor, reason }) = soon(events.next()).await else {
            panic!("nothing else happens")
        };
        assert!(actor.to_string().starts_with("Absent#"), "{actor}");
        assert_eq!(reason, ExitReason::StartFailed("away".to_owned()));
        let counts = system.counts();
        assert_eq!((counts.started, counts.ended, counts.panics), (0, 1, 0));
    });
}

/// Never starts, and is not tried again.
#[derive(Actor)]
#[actor(restart = permanent(9 in "1h"))]
struct Absent;

#[handlers]
impl Absent {
    #[start]
    fn start() -> Result<Self, greenroom::StartError> {
        Err(greenroom::StartError::new("away"))
    }
}
