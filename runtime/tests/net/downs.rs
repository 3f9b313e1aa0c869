//! The end of an actor of another node, where messages of it wait for room in the mailbox of who watches it.

use crate::stage::{Place, Seen, between, find, shut};
use crate::support::{soon, until};
use greenroom::net::Loopback;
use greenroom::{Actor, Context, DeadLetterReason, Down, ExitReason, Ref, Undelivered, handlers};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// More messages than a listener takes, which is in the handler of one and has two in its mailbox.
const SAID: u64 = 20;
/// And more than it gives credit for.
const MUCH: u64 = 300;

/// Hears what a speaker says when it may, and watches it.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Listener {
    gate: Arc<Semaphore>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

#[handlers(wire = "test.listener/1")]
impl Listener {
    #[tell]
    async fn hear(&mut self, number: u64) {
        self.gate.acquire().await.unwrap().forget();
        self.gate.add_permits(1);
        self.seen.lock().push(Seen::Told(number));
    }
    #[tell]
    async fn await_end(&mut self, speaker: Ref<Speaker>) {
        speaker.ended().await;
    }
    #[ask]
    fn watch(&mut self, speaker: Ref<Speaker>, cx: &mut Context<Self>) {
        cx.watch(&speaker, Self::down);
    }
    #[down]
    fn down(&mut self, down: Down) {
        self.seen.lock().push(Seen::Down(down.reason));
    }
}

/// Says numbers to another one, and ends.
#[derive(Actor)]
struct Speaker {
    to: Ref<Listener>,
}

#[handlers(wire = "test.speaker/2")]
impl Speaker {
    #[tell]
    async fn speak(&mut self, count: u64, cx: &mut Context<Self>) {
        for number in 0..count {
            self.to.hear(number).await.unwrap();
        }
        cx.stop();
    }
}

/// One listener at a gate, and what it has seen.
struct Ear {
    actor: Ref<Listener>,
    gate: Arc<Semaphore>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Ear {
    async fn new(place: &Place) -> Self {
        let (gate, seen) = (shut(), Arc::default());
        let args = Listener { gate: Arc::clone(&gate), seen: Arc::clone(&seen) };
        Self { actor: place.system.spawn::<Listener>(args).await.unwrap(), gate, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }
}

/// A speaker at `there` that speaks to a listener, as it is found from `here`.
async fn speaker(here: &Place, there: &Place, name: &str, to: &Ref<Listener>) -> Ref<Speaker> {
    let speaker = there.system.spawn::<Speaker>(Speaker { to: to.clone() }).await.unwrap();
    find(here, there, name, &speaker).await
}

/// A listener that watches a speaker which has said so much to it and has ended, of which another one has heard that
/// watches it; and how the listener is reached from there.
async fn said(here: &Place, there: &Place, count: u64) -> (Ear, Ref<Listener>) {
    let ears = [Ear::new(here).await, Ear::new(here).await];
    let to = find(there, here, "listener", &ears[0].actor).await;
    let speaker = speaker(here, there, "speaker", &to).await;
    for ear in &ears {
        ear.actor.watch(speaker.clone()).await.unwrap();
    }
    speaker.speak(count).await.unwrap();
    soon(speaker.ended()).await;
    until(|| ears[1].seen() == [Seen::Down(ExitReason::Stopped)]).await;
    let [ear, _] = ears;
    assert!(ear.seen().is_empty(), "it is at the gate");
    (ear, to)
}

/// So many messages, and the end.
fn first(count: u64) -> Vec<Seen> {
    let told = (0..count).map(Seen::Told);
    told.chain([Seen::Down(ExitReason::Stopped)]).collect()
}

/// Opens the gate and waits until so many messages, the end, and one of somebody else have come.
async fn hears_all(ear: &Ear, to: &Ref<Listener>, count: u64) {
    // What others say meanwhile is in no order with it.
    to.hear(count).await.unwrap();
    ear.gate.add_permits(1);
    until(|| ear.seen().len() as u64 > count + 1).await;
    let seen = ear.seen().into_iter().filter(|seen| *seen != Seen::Told(count));
    assert_eq!(seen.collect::<Vec<_>>(), first(count));
}

// [G-REMOTE-5]
#[test]
fn an_end_comes_after_messages_that_wait_for_room_and_others_do_not_wait() {
    between(Loopback::new, async |_, here, there| {
        let (ear, to) = said(here, there, SAID).await;
        hears_all(&ear, &to, SAID).await;
    });
}

// [G-REMOTE-5] [G-REMOTE-6] [ENV-25]
#[test]
fn an_end_comes_after_messages_that_wait_for_credit_and_others_do_not_wait() {
    between(Loopback::new, async |_, here, there| {
        let (ear, to) = said(here, there, MUCH).await;
        hears_all(&ear, &to, MUCH).await;
    });
}

// [G-REMOTE-6] [ENV-25]
#[test]
fn who_waits_for_an_end_in_a_handler_hears_of_it_though_mail_waits() {
    between(Loopback::new, async |_, here, there| {
        let ear = Ear::new(here).await;
        let to = find(there, here, "listener", &ear.actor).await;
        let one = speaker(here, there, "one", &to).await;
        let other = speaker(here, there, "other", &to).await;
        ear.gate.add_permits(1);
        ear.actor.await_end(other.clone()).await.unwrap();
        one.speak(MUCH).await.unwrap();
        soon(one.ended()).await;
        assert!(ear.seen().is_empty(), "it waits");
        other.speak(0).await.unwrap();
        until(|| ear.seen().len() as u64 == MUCH).await;
    });
}

// [G-REMOTE-5]: in place of the messages that are lost.
#[test]
fn an_end_that_waits_behind_messages_is_told_when_the_connection_ends() {
    between(Loopback::new, async |network, here, there| {
        let mut letters = here.system.dead_letters();
        let (ear, _) = said(here, there, SAID).await;
        network.cut("here", "there");
        let mut lost = async || {
            let letter = soon(letters.next()).await.unwrap();
            assert_eq!(letter.actor, ear.actor.id());
            assert_eq!(letter.reason, DeadLetterReason::Undelivered(Undelivered::NodeDown));
        };
        lost().await;
        ear.gate.add_permits(1);
        until(|| matches!(ear.seen().last(), Some(Seen::Down(_)))).await;
        let told = ear.seen().len() as u64 - 1;
        for _ in told + 1..SAID {
            lost().await;
        }
        assert_eq!(ear.seen(), first(told));
    });
}

// [G-REMOTE-5]: of what the listener gives no credit for, nothing has come.
#[test]
fn an_end_that_waits_for_credit_is_told_when_the_connection_ends() {
    between(Loopback::new, async |network, here, there| {
        let (ear, _) = said(here, there, MUCH).await;
        network.cut("here", "there");
        until(|| here.node.peers().is_empty()).await;
        ear.gate.add_permits(1);
        until(|| matches!(ear.seen().last(), Some(Seen::Down(_)))).await;
        let told = ear.seen().len() as u64 - 1;
        assert!(told < SAID, "{told}");
        assert_eq!(ear.seen(), first(told));
    });
}

#[test]
fn who_ends_while_an_end_waits_for_it_hears_of_nothing() {
    for count in [SAID, MUCH] {
        between(Loopback::new, async |_, here, there| {
            let (ear, to) = said(here, there, count).await;
            ear.actor.kill();
            soon(ear.actor.ended()).await;
            soon(to.ended()).await;
            assert!(ear.seen().is_empty());
        });
    }
}
