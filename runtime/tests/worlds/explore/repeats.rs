//! Runs of the same choices: that they are the same, and where they are not.

use super::{Box_, failure_of, file, number_after};
use crate::fabric::{MS, Pair};
use greenroom::sim::{Ecn, Explore, Link, Node, Policy, Verdict, World};
use greenroom::{Actor, handlers};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Two that are not the same.
const NUMBERS: [u32; 2] = [3, 4];

/// A number that no two calls have in common, as the real clock has it.
fn unrepeatable() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    CALLS.fetch_add(1, Ordering::Relaxed)
}

/// Buys as often as the world does not say.
fn unrepeatable_tickets(world: &mut World) {
    let node = world.node("theatre").start();
    let system = node.system();
    world.run(async {
        let tickets = system.spawn::<Box_>(Box_ { left: 1000 }).await.unwrap();
        for _ in 0..unrepeatable() {
            tickets.left().await.unwrap();
        }
    });
}

#[test]
fn what_does_not_come_from_the_world_is_found_where_it_shows() {
    assert_eq!(Explore::new().seeds(3).twice().run(|world| assert!(world.pick(9) < 9)).worlds, 3);
    let text = failure_of(&Explore::new().seeds(3).twice(), unrepeatable_tickets);
    assert!(text.contains("the run does not repeat"), "{text}");
    let line = number_after(&text, "part at line ");
    let trace = String::from_utf8(file(&text, "what was chosen:")).unwrap();
    let named = trace.lines().nth(line as usize - 1).unwrap();
    assert!(text.contains(&format!("\"{named}\"")), "{named} of {text}");
}

/// A scenario that goes one way or the other, as the world does not say.
type Case = fn(&mut World, usize);

/// Each of them is found not to repeat.
fn are_told_apart(cases: &[Case]) {
    let is_alike = |case: &Case| {
        let calls = Cell::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            Explore::new().seeds(1).twice().run(|world| {
                calls.set(calls.get() + 1);
                case(world, calls.get() % 2);
            })
        }));
        let text = outcome.err().map(|panic| *panic.downcast::<String>().unwrap());
        text.is_none_or(|text| !text.contains("the run does not repeat"))
    };
    let alike: Vec<_> = (0..cases.len()).filter(|&number| is_alike(&cases[number])).collect();
    assert_eq!(alike, [], "the runs of these cases are taken for the same");
}

#[test]
fn who_runs_and_what_is_sent_where_tells_runs_apart() {
    let cases: [Case; 3] = [
        |world, which| {
            // Both nodes are alike, and so are their actors' numbers.
            let systems = ["one", "other"].map(|name| world.node(name).start().system());
            world.run(async {
                let mut offices = Vec::new();
                for system in &systems {
                    offices.push(system.spawn::<Box_>(Box_ { left: 1 }).await.unwrap());
                }
                offices[which].left().await.unwrap();
            });
        },
        |world, which| {
            let nodes = ["one", "other", "third"].map(|name| world.node(name).start());
            let sockets = nodes.each_ref().map(|node| node.bind(1).unwrap());
            sockets[2].send(sockets[which].address(), b"x");
            world.settle();
        },
        |world, which| {
            let socket = world.node("one").start().bind(1).unwrap();
            socket.send(socket.address(), &[u8::from(which == 1)]);
            world.settle();
        },
    ];
    are_told_apart(&cases);
}

#[test]
fn what_becomes_of_packets_tells_runs_apart() {
    let cases: [Case; 8] = [
        |world, which| {
            let pair = Pair::new(world, Link::default());
            world.cut(&pair.nodes[0], &pair.nodes[1]);
            pair.send(NUMBERS[which]);
        },
        |world, which| {
            let pair = Pair::new(world, Link::default());
            world.add_rule(&pair.nodes[0], &pair.nodes[1], |_| Verdict::Drop);
            pair.send(NUMBERS[which]);
        },
        |world, which| {
            let pair = Pair::new(world, Link::default().full(1000));
            pair.send(NUMBERS[which]);
        },
        // It does not arrive, for one reason or the other.
        |world, which| {
            let pair = Pair::new(world, Link::default());
            match which {
                0 => world.cut(&pair.nodes[0], &pair.nodes[1]),
                _ => world.add_rule(&pair.nodes[0], &pair.nodes[1], |_| Verdict::Drop),
            }
            pair.send(7);
        },
        |world, which| {
            let pair = Pair::new(world, Link::default());
            let later = NUMBERS[which] * MS;
            world.add_rule(&pair.nodes[0], &pair.nodes[1], move |_| Verdict::Deliver(later));
            pair.send(7);
            world.run_for(10 * MS);
        },
        |world, which| {
            let nodes = ["one", "other", "third"].map(|name| world.node(name).start());
            let sockets = nodes.each_ref().map(|node| node.bind(1).unwrap());
            sockets[which].send(sockets[2].address(), b"x");
        },
        |world, which| {
            let pair = Pair::new(world, Link::default());
            pair.sockets[1].set_buffer(which);
            pair.send(7);
            world.settle();
        },
        |world, which| {
            let pair = Pair::new(world, Link::default());
            let ecn = [Ecn::Capable0, Ecn::Capable1][which];
            pair.sockets[0].try_send(pair.sockets[1].address(), ecn, b"x").unwrap();
        },
    ];
    are_told_apart(&cases);
}

#[test]
fn times_messages_and_what_a_test_does_tell_runs_apart() {
    let cases: [Case; 7] = [
        |world, which| {
            let clock = world.clock();
            world.run(async { clock.sleep(NUMBERS[which] * MS).await });
        },
        |world, which| world.run_for(NUMBERS[which] * MS),
        |world, which| {
            let node = world.node("one").start();
            world.settle();
            [Node::pause, Node::freeze_clock][which](&node);
            world.settle();
        },
        |world, which| world.node("one").start().store("key", [which == 1].map(u8::from)),
        |world, which| assert!(world.pick([1000, 1001][which]) < 1001),
        |world, which| world.sometimes("the mark", which == 0),
        // All of them in one turn.
        |world, which| {
            let node = world.node("theatre").settings(|builder| builder.batch(64)).start();
            let tickets = node.system().spawn::<Box_>(Box_ { left: 1000 }).start().unwrap();
            world.settle();
            (0..NUMBERS[which]).for_each(|_| tickets.take().try_send().unwrap());
            world.settle();
        },
    ];
    are_told_apart(&cases);
}

#[test]
fn a_second_run_that_fails_is_not_passed_over() {
    let runs = Cell::new(0);
    let text = failure_of(&Explore::new().seeds(1).twice(), |_| {
        runs.set(runs.get() + 1);
        assert_ne!(runs.get(), 2, "bad luck");
    });
    assert!(text.contains("the run does not repeat") && text.contains("bad luck"), "{text}");
}

#[test]
fn a_second_run_that_fails_otherwise_is_told_of() {
    let runs = Cell::new(0);
    let text = failure_of(&Explore::new().seeds(1), |_| {
        runs.set(runs.get() + 1);
        panic!("{}", if runs.get() == 1 { "bad luck" } else { "worse luck" });
    });
    assert!(text.starts_with("the scenario panicked") && text.contains(": bad luck"), "{text}");
    assert!(text.contains("has the same trace, and failed: "), "{text}");
    assert!(text.contains(": worse luck") && !text.contains("matter"), "{text}");
}

#[test]
fn a_failure_that_does_not_repeat_says_so() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        unrepeatable_tickets(world);
        assert!(unrepeatable() > 1 << 40, "bad luck");
    });
    assert!(text.contains("bad luck") && text.contains("part at line "), "{text}");
    assert!(!text.contains("matter"), "{text}");
    let text = failure_of(&Explore::new().seeds(1), |world| {
        static FIRST: AtomicU64 = AtomicU64::new(1);
        let picks = FIRST.swap(0, Ordering::Relaxed);
        (0..picks).for_each(|_| assert!(world.pick(9) < 9));
        assert_eq!(picks, 0, "only once");
    });
    assert!(text.contains("something outlives a world"), "{text}");
}

/// Notes when it is dropped, in the list of its world.
#[derive(Actor)]
struct Mortal(u32, Arc<Mutex<Vec<Vec<u32>>>>);

#[handlers]
impl Mortal {}

impl Drop for Mortal {
    fn drop(&mut self) {
        self.1.lock().unwrap().last_mut().unwrap().push(self.0);
    }
}

#[test]
fn a_world_is_buried_again_in_the_same_order() {
    let buried = Arc::new(Mutex::new(Vec::new()));
    Explore::new().policy(Policy::Random).seeds(20).twice().run(|world| {
        buried.lock().unwrap().push(Vec::new());
        let system = world.node("one").start().system();
        world.run(async {
            for number in 0..4 {
                let mortal = Mortal(number, Arc::clone(&buried));
                system.spawn::<Mortal>(mortal).await.unwrap();
            }
        });
    });
    let buried = buried.lock().unwrap();
    let mut orders = BTreeSet::new();
    for both in buried.chunks(2) {
        assert_eq!((both[0].len(), &both[0]), (4, &both[1]));
        orders.insert(&both[0]);
    }
    assert!(orders.len() > 1, "the order is a choice");
}
