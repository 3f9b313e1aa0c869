//! Groups and topics: typed, left by ending, and mail like any other.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, everywhere, hold_worker, on, soon, until};
use greenroom::{Actor, Context, Group, Ref, Scheduler, System, Topic, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[derive(Actor)]
#[actor(mailbox = bounded(2, full = reject), restart = transient(9 in "1h"))]
struct Singer {
    heard: Vec<u32>,
}

#[handlers]
impl Singer {
    #[start]
    fn start() -> Self {
        Self { heard: Vec::new() }
    }
    #[tell]
    fn hear(&mut self, note: u32) {
        self.heard.push(note);
    }
    #[ask]
    fn heard(&self) -> Vec<u32> {
        self.heard.clone()
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
    /// Leaves or joins while others do.
    #[ask]
    fn join(&mut self, group: Group<Self>, cx: &mut Context<Self>) -> bool {
        group.join(&cx.me())
    }
}

#[derive(Actor)]
struct Listener {
    heard: Vec<u32>,
}

#[handlers]
impl Listener {
    #[tell]
    fn note(&mut self, note: u32) {
        self.heard.push(note);
    }
    #[ask]
    fn heard(&self) -> Vec<u32> {
        self.heard.clone()
    }
}

async fn singers(system: &System, count: usize) -> Vec<Ref<Singer>> {
    let mut singers = Vec::new();
    for _ in 0..count {
        singers.push(system.spawn::<Singer>(()).await.unwrap());
    }
    singers
}

// [G-GROUP-1]
#[test]
fn members_are_in_until_they_leave_or_end() {
    everywhere(async |system| {
        let choir: Group<Singer> = system.group("choir");
        let singers = singers(system, 4).await;
        for singer in &singers {
            assert!(choir.join(singer));
            assert!(!choir.join(singer), "once");
        }
        assert_eq!(choir.members(), singers);
        assert!(choir.leave(&singers[1]));
        assert!(!choir.leave(&singers[1]));
        assert_eq!(choir.members(), [0, 2, 3].map(|index| singers[index].clone()));
        singers[2].stop();
        assert!(!choir.members().contains(&singers[2]), "it is ending");
        soon(singers[2].ended()).await;
        assert!(!choir.join(&singers[2]), "it has ended");
        assert!(choir.join(&singers[1]));
        assert_eq!(choir.members(), [0, 3, 1].map(|index| singers[index].clone()));
        singers[0].fall().await.unwrap();
        singers[0].heard().await.unwrap();
        assert_eq!(choir.members().len(), 3, "a restart is no end");
    });
}

#[test]
fn a_group_is_found_by_name_and_type() {
    on(1, Scheduler::stealing(), async |system| {
        let singers = singers(system, 1).await;
        system.group::<Singer>("choir").join(&singers[0]);
        assert_eq!(system.group::<Singer>("choir").members(), singers);
        assert_eq!(system.group::<Singer>("band").members(), []);
        assert_eq!(system.group::<Listener>("choir").members(), []);
        assert_eq!(Group::<Singer>::new().members(), []);
        let topic = system.topic::<u32>("choir");
        topic.subscribe(&singers[0], |singer, note| singer.hear(note));
        assert_eq!(system.topic::<u32>("choir").subscribers(), 1);
        assert_eq!(system.topic::<u64>("choir").subscribers(), 0);
    });
}

// [G-GROUP-1]
#[test]
fn a_group_forgets_those_who_ended() {
    everywhere(async |system| {
        let choir: Group<Singer> = Group::new();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (system, choir) = (system.clone(), choir.clone());
                thread::spawn(move || {
                    for round in 0..50 {
                        let singer = system.spawn::<Singer>(()).start().unwrap();
                        assert!(choir.join(&singer));
                        if round % 3 == 0 {
                            assert!(choir.leave(&singer));
                        }
                        singer.stop();
                        choir.join(&singer);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        system.await_idle(LONG).await.unwrap();
        assert_eq!(choir.members(), []);
        assert!(format!("{choir:?}").starts_with("Group"));
    });
}

/// A note that counts those of its kind.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn what_a_subscription_holds_goes_with_it() {
    everywhere(async |system| {
        let (topic, count) = (Topic::<u32>::new(), Arc::new(AtomicUsize::new(0)));
        for singer in singers(system, 10).await {
            let held = Counted::new(&count);
            topic.subscribe(&singer, move |singer, note| {
                let _ = &held;
                singer.hear(note)
            });
            assert_eq!(topic.publish(1).told, 1);
            singer.stop();
            soon(singer.ended()).await;
            // The report to the topic may be one of the last.
            until(|| topic.publish(2).told == 0 && count.load(Ordering::SeqCst) == 0).await;
        }
    });
}

// [G-TOPIC-1]
#[test]
fn what_is_published_reaches_every_subscriber_in_order() {
    everywhere(async |system| {
        let notes: Topic<u32> = system.topic("notes");
        assert_eq!(notes.publish(0).told, 0);
        let mut listeners = Vec::new();
        for _ in 0..4 {
            let listener = system.spawn::<Listener>(Listener { heard: Vec::new() }).await.unwrap();
            assert!(notes.subscribe(&listener, |listener, note| listener.note(note)));
            assert!(!notes.subscribe(&listener, |listener, note| listener.note(note + 1000)));
            listeners.push(listener);
        }
        for note in 0..100 {
            assert_eq!(notes.publish(note).told, 4);
        }
        assert!(notes.unsubscribe(&listeners[3]));
        assert!(!notes.unsubscribe(&listeners[3]));
        assert_eq!(notes.publish_to_all(100).await, 3);
        for (index, listener) in listeners.iter().enumerate() {
            let heard = listener.heard().await.unwrap();
            let count = if index == 3 { 100 } else { 101 };
            assert_eq!(heard, (0..count).collect::<Vec<_>>());
        }
    });
}

// [G-TOPIC-1]
#[test]
fn a_subscribers_bound_holds() {
    for scheduler in [Scheduler::locked, Scheduler::per_core] {
        on(1, scheduler(), async |system| {
            let notes: Topic<u32> = Topic::new();
            let singers = singers(system, 2).await;
            for singer in &singers {
                notes.subscribe(singer, |singer, note| singer.hear(note));
            }
            let hold = hold_worker(system).await;
            for note in 0..2 {
                let published = notes.publish(note);
                assert_eq!((published.told, published.full), (2, 0));
            }
            let published = notes.publish(2);
            assert_eq!((published.told, published.full), (0, 2), "two is their bound");
            let mut waiting = Box::pin(notes.publish_to_all(3));
            assert!(crate::support::poll_once(&mut waiting).is_pending(), "it waits for room");
            drop(hold);
            assert_eq!(soon(waiting).await, 2);
            for singer in &singers {
                assert_eq!(singer.heard().await.unwrap(), [0, 1, 3]);
            }
        });
    }
}

#[test]
fn a_group_may_be_joined_from_a_handler() {
    everywhere(async |system| {
        let choir = Group::new();
        for singer in singers(system, 3).await {
            assert_eq!(singer.join(choir.clone()).await, Ok(true));
            assert_eq!(singer.join(choir.clone()).await, Ok(false));
        }
        assert_eq!(choir.members().len(), 3);
    });
}
