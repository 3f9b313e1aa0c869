//! Many worlds: bugs are found, repeated and made small.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::sim::{Explore, Fault, Link, Policy, World};
use greenroom::{Actor, Context, Ref, handlers};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Hands out one ticket, but looks and takes in two messages.
#[derive(Actor)]
struct Box_ {
    left: u32,
}

#[handlers]
impl Box_ {
    #[ask]
    fn left(&self) -> u32 {
        self.left
    }
    #[tell]
    fn take(&mut self) {
        self.left = self.left.checked_sub(1).expect("a ticket sold twice");
    }
}

#[derive(Actor)]
struct Buyer {
    tickets: Ref<Box_>,
}

#[handlers]
impl Buyer {
    #[tell]
    async fn buy(&mut self) {
        if self.tickets.left().await.unwrap() > 0 {
            self.tickets.take().await.unwrap();
        }
    }
}

/// Two buyers and some others who do nothing of interest.
fn tickets(world: &mut World) {
    let node = world.node("theatre").start();
    let system = node.system();
    world.run(async {
        let tickets = system.spawn::<Box_>(Box_ { left: 1 }).await.unwrap();
        let mut buyers = Vec::new();
        for _ in 0..2 {
            let tickets = tickets.clone();
            buyers.push(system.spawn::<Buyer>(Buyer { tickets }).await.unwrap());
        }
        for buyer in &buyers {
            buyer.buy().await.unwrap();
        }
    });
    world.run_for(Duration::from_secs(1));
}

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

/// Goes on for ever.
#[derive(Actor)]
struct Restless;

#[handlers]
impl Restless {
    #[tell]
    fn go_on(&mut self, cx: &mut Context<Self>) {
        let _ = cx.me().go_on().tell();
    }
}

/// What the exploration panics with.
pub(super) fn failure_of(explore: &Explore, scenario: impl Fn(&mut World)) -> String {
    let outcome = catch_unwind(AssertUnwindSafe(|| explore.run(scenario)));
    *outcome.expect_err("a world fails").downcast::<String>().unwrap()
}

/// The number behind a word in a text.
fn number_after(text: &str, word: &str) -> u64 {
    let rest = text.split(word).nth(1).unwrap_or_else(|| panic!("no {word:?} in {text}"));
    rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn a_race_between_actors_is_found_and_made_small() {
    let text = failure_of(&Explore::new().seeds(200), tickets);
    assert!(text.contains("a ticket sold twice"), "{text}");
    let features = if cfg!(feature = "test-util") { "--features " } else { "" };
    assert!(text.contains(&format!("cargo test -p greenroom {features}")), "{text}");
    assert!(text.contains(" --test worlds -- --exact "), "{text}");
    let program = std::env::current_exe().unwrap();
    assert!(text.contains(&format!("{} --exact ", program.display())), "{text}");
    let (all, few) = (number_after(&text, "of "), number_after(&text, " choices "));
    assert!(few < all && few <= 6, "{few} choices of {all} are left: {text}");
    let place = text.lines().find_map(|line| line.trim().strip_prefix("what happened:")).unwrap();
    let log = std::fs::read_to_string(place.trim()).unwrap();
    assert!(log.contains("a ticket sold twice"), "{log}");
}

/// The file that a failure names behind `what`.
fn file(text: &str, what: &str) -> Vec<u8> {
    let path = text.lines().find_map(|line| line.trim().strip_prefix(what));
    std::fs::read(path.unwrap_or_else(|| panic!("no {what:?} in {text}")).trim()).unwrap()
}

#[test]
fn a_failure_leaves_the_packets_and_the_commit() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        world.set_links(Link::default().loss(300));
        let (one, other) = (world.node("one").start(), world.node("other").start());
        let (from, to) = (one.bind(7).unwrap(), other.bind(8).unwrap());
        for number in 0..20_u8 {
            from.send(to.address(), &[b'#', number]);
        }
        world.run_for(Duration::from_secs(1));
        let traffic = world.traffic();
        world.fail_with("enough", format!("{} sent {} arrived", traffic.sent, traffic.arrived));
    });
    let packets = file(&text, "what was sent:");
    // The interface stands 8 bytes behind the beginning of a packet's block, which is as long as this.
    let count = |interface: u8| {
        let begin = [6, 0, 0, 0, 64, 0, 0, 0, interface, 0, 0, 0];
        packets.windows(begin.len()).filter(|window| *window == begin).count() as u64
    };
    // The shortest run that fails, with numbers of its own, is what was written.
    let shrunk = text.lines().find(|line| line.contains("arrived") && line.starts_with("  "));
    let shrunk = shrunk.unwrap();
    assert_eq!(count(0), number_after(shrunk, "  "));
    assert_eq!(count(1), number_after(shrunk, "sent "));
    let mut git = Command::new("git");
    let head = git.args(["rev-parse", "HEAD"]).output().ok().filter(|head| head.status.success());
    if let Some(head) = head {
        let head = String::from_utf8(head.stdout).unwrap();
        assert!(text.contains(&format!("commit:         {}", head.trim())), "{text}");
    }
}

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

#[test]
fn who_runs_and_what_is_sent_where_tells_runs_apart() {
    type Case = fn(&mut World, usize);
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
    for case in cases {
        let calls = Cell::new(0);
        let text = failure_of(&Explore::new().seeds(1).twice(), |world| {
            calls.set(calls.get() + 1);
            case(world, calls.get() % 2);
        });
        assert!(text.contains("the run does not repeat"), "{text}");
    }
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

#[test]
fn a_seed_that_failed_fails_again() {
    let text = failure_of(&Explore::new().seeds(200), tickets);
    let seed = number_after(&text, "GREENROOM_SEED=");
    for _ in 0..2 {
        let again = catch_unwind(|| tickets(&mut World::new(seed))).unwrap_err();
        let again = again.downcast::<String>().unwrap();
        assert!(again.contains("a ticket sold twice"), "{again}");
        assert!(again.contains(&format!("seed {seed}")), "{again}");
    }
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
fn a_failure_in_a_storm_is_made_small_and_not_to_one_of_more_strikes() {
    let text = failure_of(&Explore::new().seeds(1).steps_max(5_000), |world| {
        let node = world.node("one").start();
        let _storm = world.storm(&[node], &[]);
        world.run_for(Duration::from_secs(10));
        panic!("anyhow");
    });
    assert!(number_after(&text, " choices ") <= 1, "{text}");
}

#[test]
fn a_world_that_never_ends_is_ended() {
    let text = failure_of(&Explore::new().seeds(1).steps_max(1_000), |world| {
        let system = world.node("treadmill").start().system();
        world.run(async {
            system.spawn::<Restless>(Restless).await.unwrap().go_on().await.unwrap();
        });
        world.settle();
    });
    assert!(text.contains("too many steps") && text.contains("more than 1000"), "{text}");
}

#[test]
#[ignore = "fails, and is run by the test below"]
fn sells_a_ticket_twice() {
    Explore::new().seeds(200).run(tickets);
}

/// What a process says in which that test fails, with these in its environment.
fn said_with(folder: &Path, variables: &[(&str, &str)]) -> String {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "explore::sells_a_ticket_twice", "--ignored"]);
    for other in ["GREENROOM_SEED", "GREENROOM_SEEDS", "GREENROOM_CHOICES", "RUST_TEST_NOCAPTURE"] {
        process.env_remove(other);
    }
    process.env("GREENROOM_SIM_DIR", folder).envs(variables.iter().copied());
    let output = process.output().unwrap();
    assert!(!output.status.success(), "it fails");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that a failure prints repeat it, in a process of its own.
#[test]
fn what_a_failure_says_to_do_repeats_it() {
    let folder = std::env::temp_dir().join(format!("greenroom-explore-{}", std::process::id()));
    let first = said_with(&folder, &[]);
    for variable in ["GREENROOM_SEED", "GREENROOM_CHOICES"] {
        let rest = first.split(&format!("{variable}=")).nth(1);
        let value = rest.and_then(|rest| rest.split(' ').next());
        let value = value.unwrap_or_else(|| panic!("no {variable} in {first}"));
        // Without what it says there would be no world.
        let again = said_with(&folder, &[(variable, value), ("GREENROOM_SEEDS", "0")]);
        assert!(again.contains("a ticket sold twice"), "{again}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_gives_up_before_every_choice_was_tried_fails() {
    let scenario = |world: &mut World| assert!(world.pick(3) + world.pick(2) < 4);
    let text = failure_of(&Explore::new().every_choice(5), scenario);
    assert!(text.contains("more than 5 worlds"), "{text}");
    assert!(Explore::new().every_choice(6).run(scenario).complete);
    let explored = Explore::new().every_choice(5).allow_incomplete().run(scenario);
    assert_eq!((explored.worlds, explored.complete), (5, false));
    let none = failure_of(&Explore::new().every_choice(0), scenario);
    assert!(none.contains("more than 0 worlds"), "{none}");
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
fn a_mark_that_no_world_passes_fails_the_test() {
    let text = failure_of(&Explore::new().seeds(3), |world| world.sometimes("never", false));
    assert!(text.contains("never"), "{text}");
    let seldom = |world: &mut World| {
        let hit = world.pick(4) == 3;
        world.sometimes("seldom", hit);
    };
    assert_eq!(Explore::new().seeds(50).run(seldom).worlds, 50);
}

#[test]
fn checks_name_themselves() {
    type Case = (&'static str, fn(&mut World));
    let cases: [Case; 4] = [
        ("always \"small\" is broken", |world| {
            let mut steps = 0;
            world.always("small", move || {
                steps += 1;
                if steps < 5 { Ok(()) } else { Err("too large".to_owned()) }
            });
        }),
        ("at the end \"tidy\" is broken", |world| {
            world.at_end("tidy", || Err("a mess".to_owned()));
        }),
        ("eventually \"rain\" did not come", |world| {
            world.eventually("rain", Duration::from_millis(2), || false);
        }),
        ("too bad", |world| world.fail_with("too bad", "indeed")),
    ];
    for (name, case) in cases {
        let text = failure_of(&Explore::new().seeds(1), |world| {
            let node = world.node("one").start();
            let clock = world.clock();
            case(world);
            world.run(async {
                let _ticket = node.system().spawn::<Box_>(Box_ { left: 1 }).await.unwrap();
                clock.sleep(Duration::from_millis(1)).await;
            });
            world.run_for(Duration::from_millis(10));
        });
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn what_comes_in_time_is_well() {
    let mut world = World::new(3);
    let clock = world.clock();
    world.eventually("late", Duration::from_secs(5), move || clock.now() > Duration::from_secs(4));
    world.run_for(Duration::from_secs(2));
    let clock = world.clock();
    world.run(async { clock.sleep(Duration::from_secs(4)).await });
    world.finish();
}

#[test]
fn what_comes_too_late_is_not_well() {
    type Case = fn(&mut World);
    let cases: [Case; 4] = [
        |world| world.run_for(Duration::from_secs(10)),
        |world| {
            let clock = world.clock();
            world.run(async { clock.sleep(Duration::from_secs(10)).await });
        },
        // Nobody looks between the due time and the end.
        |world| world.run_for(Duration::from_secs(2)),
        World::settle,
    ];
    for case in cases {
        let text = failure_of(&Explore::new().seeds(3), |world| {
            let (clock, flag) = (world.clock(), Rc::new(Cell::new(false)));
            let raised = Rc::clone(&flag);
            world.spawn(async move {
                clock.sleep(Duration::from_secs(5)).await;
                flag.set(true);
            });
            world.eventually("flag", Duration::from_secs(1), move || raised.get());
            case(world);
            world.finish();
        });
        assert!(text.contains("eventually \"flag\" did not come"), "{text}");
    }
}

#[test]
fn what_comes_by_itself_in_time_is_seen_after_a_long_pause() {
    let mut world = World::new(3);
    let clock = world.clock();
    // True for half a second, in which nobody runs.
    let is_time = move || (4_500..5_001).contains(&clock.now().as_millis());
    world.eventually("late", Duration::from_secs(5), is_time);
    world.run_for(Duration::from_secs(60));
    world.finish();
}

#[test]
fn what_comes_between_two_runs_is_in_time() {
    let mut world = World::new(3);
    let flag = Rc::new(Cell::new(false));
    let raised = Rc::clone(&flag);
    // The first step takes longer than that.
    world.eventually("flag", Duration::from_nanos(1), move || raised.get());
    flag.set(true);
    world.run(tokio::task::yield_now());
    world.finish();
}

#[test]
fn what_always_happens_does_so_in_every_run() {
    let text = failure_of(&Explore::new().seeds(1), |world| {
        let (certain, other) = (world.chance(1000), world.pick(5));
        world.fail_with("it broke", format!("certainly {certain}, {other}"));
    });
    let shrunk = text.lines().find(|line| line.starts_with("  certainly "));
    assert_eq!(shrunk, Some("  certainly true, 0"), "{text}");
    let explored = Explore::new().every_choice(10).run(|world| {
        assert!(world.chance(1000) && world.pick(3) < 3);
    });
    assert_eq!(explored.worlds, 3);
}

#[test]
fn a_fuzzers_input_need_not_pass_every_mark() {
    let seldom = |world: &mut World| world.sometimes("seldom", false);
    assert_eq!(Explore::new().bytes([0]).run(seldom).worlds, 1);
}

#[test]
fn a_failure_is_not_made_small_to_another_that_begins_alike() {
    let text = failure_of(&Explore::new().seeds(50), |world| match world.pick(16) {
        8.. => panic!("they differ:\n  high"),
        4 => panic!("they differ:\n  low"),
        _ => {}
    });
    assert!(text.contains("high") && !text.contains("low"), "{text}");
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
