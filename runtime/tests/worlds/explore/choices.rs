//! Where choices come from: all that there are, or a fuzzer's bytes.

use super::{Box_, failure_of, tickets};
use greenroom::sim::{Explore, Fault, World};
use greenroom::{Actor, Ref, handlers};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// The same box office, which looks and takes in one message.
#[derive(Actor)]
struct Office {
    left: u32,
}

#[handlers]
impl Office {
    #[ask]
    fn buy(&mut self) -> bool {
        let bought = self.left > 0;
        self.left -= u32::from(bought);
        bought
    }
}

/// Buys, and says whether it got the ticket.
#[derive(Actor)]
struct Customer {
    office: Ref<Office>,
    got: Arc<[AtomicBool; 2]>,
}

#[handlers]
impl Customer {
    #[tell]
    async fn buy(&mut self, me: usize) {
        self.got[me].store(self.office.buy().await.unwrap(), Ordering::Relaxed);
    }
}

/// Two customers; which of them got the only ticket.
fn office(world: &mut World) -> usize {
    let node = world.node("theatre").settings(|builder| builder.workers(1)).start();
    let system = node.system();
    let got = Arc::<[AtomicBool; 2]>::default();
    let office = system.spawn::<Office>(Office { left: 1 }).start().unwrap();
    // Each by itself, so that only the orders of what follows are tried.
    world.settle();
    let customers = [0, 1].map(|_| {
        let customer = Customer { office: office.clone(), got: Arc::clone(&got) };
        let customer = system.spawn::<Customer>(customer).start().unwrap();
        world.settle();
        customer
    });
    for (me, customer) in customers.iter().enumerate() {
        customer.buy(me).try_send().unwrap();
    }
    world.settle();
    let got = got.each_ref().map(|got| got.load(Ordering::Relaxed));
    assert_ne!(got[0], got[1], "the ticket was sold once");
    usize::from(got[1])
}

#[test]
fn small_worlds_are_tried_completely() {
    let scenario = |world: &mut World| {
        let order = [world.pick(3), world.pick(2)];
        world.sometimes("last", order == [2, 1]);
    };
    let explored = Explore::new().every_choice(10_000);
    let explored = explored.run(scenario);
    assert!(explored.complete);
    assert_eq!(explored.worlds, 6);
    let text = failure_of(&Explore::new().every_choice(2_000), tickets);
    assert!(text.contains("a ticket sold twice"), "{text}");
}

#[test]
fn chances_and_ranges_are_tried_as_any_choice() {
    let seen = Cell::new(0_u32);
    let explored = Explore::new().every_choice(10).run(|world| {
        let (never, luck, number) = (world.chance(0), world.chance(1), world.range(5..8));
        assert!(!never && (5..8).contains(&number) && world.range(4..4) == 4);
        seen.set(seen.get() | 1 << (2 * (number - 5) + usize::from(luck)));
    });
    assert_eq!((explored.worlds, seen.get()), (6, 0b11_1111));
    let hits = Cell::new(0);
    let draw = |world: &mut World| hits.set(hits.get() + u32::from(world.chance(250)));
    let worlds = Explore::new().seeds(1000).run(draw).worlds;
    let off = u64::from(hits.get()).abs_diff(worlds / 4);
    assert!(off <= worlds / 20 + 10, "a quarter of {worlds}: {}", hits.get());
}

#[test]
fn every_order_of_actors_is_tried() {
    let winners = Cell::new([0_u64; 2]);
    let explored = Explore::new().every_choice(20_000).run(|world| {
        let mut won = winners.get();
        won[office(world)] += 1;
        winners.set(won);
    });
    let won = winners.get();
    assert!(explored.complete && won[0] > 0, "{won:?}");
    assert_eq!(won[0], won[1], "nobody is favoured");
    assert_eq!(won[0] + won[1], explored.worlds);
}

#[test]
fn of_every_choice_none_is_about_how_a_world_is_buried() {
    let seen = RefCell::new(BTreeSet::new());
    let explored = Explore::new().every_choice(20_000).run(|world| {
        let node = world.node("theatre").settings(|builder| builder.workers(1)).start();
        for _ in 0..3 {
            let _ = node.system().spawn::<Box_>(Box_ { left: 1 }).start().unwrap();
            world.settle();
        }
        seen.borrow_mut().insert(world.trace_hash());
    });
    assert_eq!(seen.into_inner().len() as u64, explored.worlds);
}

#[test]
fn what_gives_up_before_every_choice_was_tried_fails() {
    let scenario = |world: &mut World| assert!(world.pick(3) + world.pick(2) < 4);
    let text = failure_of(&Explore::new().every_choice(5), scenario);
    assert!(text.contains("more than 5 worlds"), "{text}");
    assert!(Explore::new().every_choice(6).run(scenario).complete);
    let explored = Explore::new().every_choice(5).allow_incomplete().run(scenario);
    assert_eq!((explored.worlds, explored.complete), (5, false));
}

#[test]
fn what_would_try_no_world_does_not_pass() {
    let every = Explore::new().every_choice(0);
    for explore in [Explore::new().seeds(0), every.clone(), every.allow_incomplete()] {
        let outcome = catch_unwind(AssertUnwindSafe(|| explore.run(|_| {})));
        let text = *outcome.expect_err("there is none").downcast::<&str>().unwrap();
        assert!(text.contains("there would be no world"), "{text}");
    }
}

#[test]
fn a_fuzzer_steers_by_bytes() {
    let failing = |world: &mut World| {
        let codes = [world.pick(256), world.pick(256)];
        assert_ne!(codes, [7, 9], "the bytes said so");
    };
    let bytes = |first: u8| {
        // The policy is the first choice.
        vec![0, first, 9]
    };
    assert_eq!(Explore::new().bytes(bytes(6)).run(failing).worlds, 1);
    let text = failure_of(&Explore::new().bytes(bytes(7)), failing);
    assert!(text.contains("the bytes said so"), "{text}");
}

#[test]
fn a_fuzzers_input_need_not_pass_every_mark() {
    let seldom = |world: &mut World| world.sometimes("seldom", false);
    assert_eq!(Explore::new().bytes([0]).run(seldom).worlds, 1);
}

#[test]
fn orders_late_in_a_run_are_tried_as_well() {
    for polls in 40..=70 {
        let orders = RefCell::new(BTreeSet::new());
        let explored = Explore::new().every_choice(1000).run(|world| {
            let (order, gate) = (Rc::new(RefCell::new(String::new())), Rc::new(Notify::new()));
            for name in ["a", "b"] {
                let (order, gate) = (Rc::clone(&order), Rc::clone(&gate));
                world.spawn(async move {
                    gate.notified().await;
                    order.borrow_mut().push_str(name);
                });
            }
            world.settle();
            world.spawn(async move {
                for _ in 0..polls {
                    tokio::task::yield_now().await;
                }
                gate.notify_waiters();
            });
            world.settle();
            orders.borrow_mut().insert(order.take());
        });
        assert!(explored.complete);
        assert_eq!(orders.into_inner().len(), 2);
        // Who begins, and then who goes on.
        assert_eq!(explored.worlds, 4, "woken in poll {}", polls + 1);
    }
}

/// Two tasks in a world of more steps than those after which whoever waits longest runs where choices are drawn: whether the
/// second one was first at the end.
fn overtakes_late(world: &mut World) -> bool {
    let first = Rc::new(Cell::new(0));
    let gate = Rc::new(Notify::new());
    for task in [1, 2] {
        let (first, gate) = (Rc::clone(&first), Rc::clone(&gate));
        world.spawn(async move {
            gate.notified().await;
            if first.get() == 0 {
                first.set(task);
            }
        });
    }
    world.spawn(async move {
        // So who goes on first is chosen in step 61.
        for _ in 0..57 {
            tokio::task::yield_now().await;
        }
        gate.notify_waiters();
    });
    world.settle();
    first.get() == 2
}

#[test]
fn what_fails_late_where_every_choice_is_tried_repeats() {
    let text = failure_of(&Explore::new().every_choice(100_000), |world| {
        assert!(!overtakes_late(world), "overtaken");
    });
    assert!(text.contains("overtaken") && text.contains(" matter"), "{text}");
    assert!(!text.contains("part at line") && !text.contains("does not fail"), "{text}");
}

#[test]
fn every_choice_can_be_tried_twice_in_a_world_of_many_steps() {
    let seen = RefCell::new(BTreeSet::new());
    Explore::new().every_choice(200).allow_incomplete().twice().run(|world| {
        seen.borrow_mut().insert(overtakes_late(world));
    });
    assert_eq!(seen.into_inner().len(), 2);
}

#[test]
fn a_storm_is_not_taken_for_tried_wholly() {
    let text = failure_of(&Explore::new().every_choice(10), |world| {
        let nodes = [world.node("one").start()];
        let _storm = world.storm(&nodes, &Fault::ALL);
    });
    assert!(text.contains("a storm where every choice is tried"), "{text}");
}
