//! Actors that talk to each other come to live together, where two workers gain them nothing.

use super::{Helper, Sink, Talker};
use crate::support::{Builds, LONG, on, run, soon};
use greenroom::{Scheduler, System};
use std::sync::mpsc;
use std::time::Duration;

/// An actor whose worker is woken again and again for little goes to live where its mail comes from, unless it is pinned.
#[test]
fn actors_that_talk_in_turns_are_brought_together() {
    // Less than a slice is little: this one is long enough for whatever slows the program down.
    let system = System::builder().workers(2).slice(Duration::from_millis(20));
    let system = system.scheduler(Scheduler::per_core()).own();
    run(async {
        let talker = system.spawn::<Talker>(()).on(0).await.unwrap();
        let guest = system.spawn::<Sink>(0).await.unwrap();
        guest.migrate(1).unwrap();
        soon(async { while talker.meets(guest.clone()).within(LONG).await.unwrap() {} }).await;
        soon(async { while !talker.meets(guest.clone()).within(LONG).await.unwrap() {} }).await;

        let pinned = system.spawn::<Sink>(0).on(1).await.unwrap();
        for _ in 0..1_000 {
            assert!(!talker.meets(pinned.clone()).within(LONG).await.unwrap());
        }
        system.shutdown(LONG).await.unwrap();
    });
}

/// What is done while the worker that it is done for is busy gains by a worker of its own.
#[test]
fn who_works_beside_a_busy_worker_stays_where_it_is() {
    on(2, Scheduler::per_core(), async |system| {
        let talker = system.spawn::<Talker>(()).on(0).await.unwrap();
        let helper = system.spawn::<Helper>(()).await.unwrap();
        helper.migrate(1).unwrap();
        // It leaves when both workers have answered, which one that is in a handler does not.
        soon(async { while helper.place().await.unwrap() != "greenroom-1" {} }).await;
        for _ in 0..1_000 {
            talker.is_helped(helper.clone()).within(LONG).await.unwrap();
        }
    });
}

/// One that moves waits for all workers, so none does while another one is in a handler.
#[test]
fn actors_that_talk_do_not_wait_for_who_does_not_listen() {
    on(3, Scheduler::per_core(), async |system| {
        let talker = system.spawn::<Talker>(()).on(0).await.unwrap();
        let guest = system.spawn::<Sink>(0).await.unwrap();
        guest.migrate(1).unwrap();
        soon(async { while talker.meets(guest.clone()).within(LONG).await.unwrap() {} }).await;
        let deaf = system.spawn::<Talker>(()).on(2).await.unwrap();
        let (begins, begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        deaf.listens_to_nobody(begins, released).tell().unwrap();
        begun.recv_timeout(LONG).unwrap();
        for _ in 0..100 {
            talker.meets(guest.clone()).within(LONG).await.unwrap();
        }
        release.send(()).unwrap();
    });
}
