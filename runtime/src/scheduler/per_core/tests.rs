use super::desk::RING_CAPACITY;
use super::*;

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
