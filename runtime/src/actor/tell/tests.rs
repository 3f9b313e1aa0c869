//! Senders that found the mailbox open, and push when it has been closed.

use super::{offer, run_soon};
use crate::actor::body;
use crate::actor::life::tests::{outlive, schedulers};
use crate::actor::room::TICKET;
use crate::mailbox::Slide;
use crate::queue::list::List;
use crate::queue::node::Node;
use crate::{Actor, Full, Mailbox, Options, Ref, Scheduler, System, handlers};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Adds up what it was told.
struct Sum(u32);

impl Actor for Sum {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::unbounded());
}

#[handlers]
impl Sum {
    #[tell]
    fn add(&mut self, number: u32) {
        self.0 += number;
    }
    #[ask]
    fn sum(&self) -> u32 {
        self.0
    }
}

// [G-STOP-2]
#[test]
fn who_comes_too_late_has_its_message_back() {
    for (scheduler, _) in schedulers() {
        let system = System::builder().workers(1).scheduler(scheduler).build().unwrap();
        let sum = system.spawn::<Sum>(Sum(0)).start().unwrap();
        sum.add(1).tell().unwrap();
        assert_eq!(sum.sum().wait(), Ok(1));
        let late = sum.add(2);
        late.cell.inbox.close();
        let back = offer(late.cell, &late.dispatch.tell, late.message, run_soon);
        let Err(SumMessage::Add { number }) = back else { panic!("it came too late") };
        assert_eq!(number, 2);
        sum.drain();
        assert_eq!(system.counts().dead_stopped, 0);
        drop(sum);
        outlive(system);
    }
}

/// Sends from a task of tokio's, when its worker has nothing else to do.
struct Outside;

impl Actor for Outside {
    const OPTIONS: Options = Options::new();
}

#[handlers]
impl Outside {
    #[start]
    fn start() -> Self {
        Self
    }
    #[tell]
    fn offer(&mut self, sum: Ref<Sum>, go: oneshot::Receiver<()>, back: mpsc::Sender<bool>) {
        tokio::spawn(async move {
            go.await.expect("the test goes on");
            let late = sum.add(2);
            let sent = offer(late.cell, &late.dispatch.tell, late.message, run_soon);
            back.send(sent.is_err()).expect("the test waits");
        });
    }
}

// [G-STOP-2]
#[test]
fn who_sends_from_a_worker_that_sleeps_has_its_message_back() {
    let system = System::builder().workers(2).scheduler(Scheduler::per_core()).build().unwrap();
    let sum = system.spawn::<Sum>(Sum(0)).on(0).start().unwrap();
    let outside = system.spawn::<Outside>(()).on(1).start().unwrap();
    let (go, gone) = oneshot::channel();
    let (back, came_back) = mpsc::channel();
    outside.offer(sum.clone(), gone, back).tell().unwrap();
    assert_eq!(sum.sum().wait(), Ok(0));
    let here = tokio::runtime::Builder::new_current_thread().build().unwrap();
    here.block_on(system.await_idle(Duration::from_secs(40))).unwrap();
    sum.add(1).cell.inbox.close();
    go.send(()).unwrap();
    assert!(came_back.recv().unwrap(), "a fence does not wait for one who sleeps");
    sum.drain();
    drop((sum, outside));
    outlive(system);
}

/// Says what it was told, the first of it when it may.
struct Sayer(mpsc::Sender<u32>);

impl Actor for Sayer {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::bounded(4).full(Full::DropOldest));
}

#[handlers]
impl Sayer {
    #[tell]
    fn say(&mut self, number: u32, go: Option<mpsc::Receiver<()>>) {
        self.0.send(number).expect("the test listens");
        if let Some(go) = go {
            go.recv().expect("the test goes on");
        }
    }
}

// [G-STOP-2]: of a sender that found the budget of its system spent before the actor was told to drain.
#[test]
fn what_comes_too_late_takes_nobodys_place() {
    let system = System::builder().workers(1).build().unwrap();
    let (said, heard) = mpsc::channel();
    let sayer = system.spawn::<Sayer>(Sayer(said)).start().unwrap();
    let (go, gone) = mpsc::channel();
    sayer.say(1, Some(gone)).tell().unwrap();
    assert_eq!(heard.recv(), Ok(1));
    sayer.say(2, None).tell().unwrap();
    let late = sayer.say(3, None);
    sayer.drain();
    let bound = body::bound(late.cell).unwrap();
    let (node, mut replaced) = (Node::new(&TICKET, ()), List::new());
    assert_eq!(bound.replace_oldest(late.cell, node, 0, &mut replaced), Slide::Closed);
    assert!(replaced.is_empty());
    // SAFETY: nobody took it.
    unsafe { Node::into_payload::<()>(node) };
    go.send(()).unwrap();
    assert_eq!(heard.recv(), Ok(2));
    drop(sayer);
    outlive(system);
}
