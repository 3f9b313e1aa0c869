use super::desk::{RING_CAPACITY, ring};
use super::*;
use crate::{Actor, System, handlers};
use std::time::Duration;

/// One thread in the place of two workers, which take turns.
fn workers() -> (PerCore, WorkerId, WorkerId) {
    // SAFETY: there are no other threads, and no step is inside another one.
    (PerCore::new(2, &Cores::default()), unsafe { WorkerId::new(0) }, unsafe { WorkerId::new(1) })
}

fn take_all(queue: &PerCore, id: WorkerId) {
    while queue.has_work(id) {
        queue.trade(id, &|_| {});
    }
}

// [G-ORDER-1]
#[test]
fn what_is_spilled_for_a_sleeper_is_under_way() {
    let (queue, sender, sleeper) = workers();
    for number in 0..RING_CAPACITY as u64 + 10 {
        queue.send(sender, 1, Parcel::Fence(number), &|_| {});
    }
    take_all(&queue, sleeper);
    assert!(queue.fall_asleep(sleeper), "it has taken all that its ring held");
    assert!(!queue.has_nothing_under_way(sender, 1), "it knows nothing of the spill");
    take_all(&queue, sender);
    queue.wake_up(sleeper);
    take_all(&queue, sleeper);
    assert!(queue.fall_asleep(sleeper), "nothing is left");
    assert!(queue.has_nothing_under_way(sender, 1));
}

/// What came before a turn, and what was sent on its account, is not what the turn itself sends first.
#[test]
fn the_first_parcel_of_a_turn_does_not_wait_for_others() {
    for before in [None, Some(Parcel::Answer(0)), Some(Parcel::Fence(0))] {
        let (queue, sender, receiver) = workers();
        let case = format!("{before:?} came before");
        queue.send(sender, 1, Parcel::Answer(0), &|_| {});
        take_all(&queue, receiver);
        if let Some(parcel) = before {
            queue.send(receiver, 0, parcel, &|_| {});
        }
        assert!(queue.next(sender, queue.post(sender), &|_| {}).is_none());
        take_all(&queue, receiver);
        queue.send(sender, 1, Parcel::Answer(0), &|_| {});
        assert!(queue.has_work(receiver), "{case}");
    }
}

#[derive(Actor)]
struct Nobody;

#[handlers]
impl Nobody {
    #[tell]
    fn nod(&self) {}
}

/// A node that closes has a mark behind the mail of each of its proxies, of which there are thousands.
#[test]
fn others_are_asked_once_for_all_that_is_to_come_behind_their_mail() {
    let system = System::builder().workers(1).build().expect("it starts");
    let nobody = system.spawn::<Nobody>(Nobody).start().expect("the system runs");
    // Beside the system's own.
    let (queue, asker, other) = workers();
    for round in 0..3 {
        for _ in 0..1000 {
            let cargo = Cargo::wake(nobody.cell().clone());
            queue.desk(asker, |desk| desk.behind.push_back(cargo));
        }
        queue.trade(asker, &|_| {});
        let asked = queue.desk(other, |desk| {
            desk.sync(0);
            std::iter::from_fn(|| desk.receive(0)).count()
        });
        assert_eq!(asked, 1, "round {round}");
    }
    drop((queue, nobody));
    let here = tokio::runtime::Builder::new_current_thread().build().expect("it starts");
    here.block_on(system.shutdown(Duration::from_secs(100))).expect("nobody is left");
}

#[test]
fn a_ring_that_is_made_near_its_receiver_is_as_new() {
    for is_near in [false, true] {
        let (mut sender, mut receiver) = ring(is_near);
        assert!(receiver.try_recv().is_err(), "nothing is in it");
        for number in 0..RING_CAPACITY as u64 {
            assert!(sender.send(Parcel::Answer(number)).is_ok(), "it has room for {number} more");
        }
        assert!(sender.send(Parcel::Answer(0)).is_err(), "it has room for no more");
        for number in 0..RING_CAPACITY as u64 {
            let parcel = receiver.try_recv();
            assert!(matches!(parcel, Ok(Parcel::Answer(came)) if came == number), "{parcel:?}");
        }
    }
}
