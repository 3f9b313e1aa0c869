//! Whole supervision trees in worlds, under every strategy, scheduler and policy: children fail, leave, hang and are
//! ended by others at drawn moments, while clients tell and ask, timers run and links tie strangers together. What was
//! written down is then held against a supervisor on paper.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod cast;
mod chronicle;
mod judgement;
mod returns;
mod yard;

use crate::support::{LONG, SCHEDULINGS, scheduled};
use cast::{Head, OneForAll, OneForOne, Policy, Post, Rank, RestForOne, Seat, Watcher};
use greenroom::sim::{Explore, Policy as Choosing, World};
use greenroom::{Ref, RestartKind, Shutdown, Strategy, System};
use judgement::Judgement;
use returns::Returns;
use std::sync::Arc;
use std::time::Duration;
use yard::{Blow, CLIENTS, Order, Yard};

const SEEDS: u64 = 60;
const MS: Duration = Duration::from_millis(1);
/// Leaves of each of the inner supervisors, and of the outer one.
const CREW: usize = 3;
/// Inner supervisors.
const HEADS: usize = 2;
const SEATS: usize = CREW * (HEADS + 1);
/// What each client does.
const DEEDS: usize = 45;
/// What is done to the tree from outside.
const BLOWS: usize = 6;
/// At whom these go: leaves, inner supervisors, each as if there were two of it, and leaves by their supervisors.
const PLACES: usize = SEATS + 2 * HEADS + SEATS;
/// In which all is done, and then ended: far more than it takes.
const LIMIT: Duration = Duration::from_secs(2);

/// What a client does next, and how long it waits before.
#[derive(Clone, Copy)]
struct Deed {
    wait: Duration,
    seat: usize,
    other: usize,
    what: usize,
}

fn draw_rank(world: &World, number: usize, has_heads: bool) -> Rank {
    let mut posts: Vec<_> = (0..CREW)
        .map(|place| {
            let kinds = [RestartKind::Permanent, RestartKind::Permanent, RestartKind::Transient];
            let kind = if world.pick(8) == 0 { RestartKind::Never } else { kinds[world.pick(3)] };
            let shutdowns = [Shutdown::Within(2 * MS), Shutdown::Forever, Shutdown::Kill];
            let shutdown = shutdowns[world.pick(3)];
            Post::Leaf(Seat { number: number * CREW + place, kind, shutdown })
        })
        .collect();
    if has_heads {
        for head in 1..=HEADS {
            // Among the leaves, not behind all of them.
            let place = world.pick(posts.len() + 1);
            posts.insert(place, Post::Head(draw_strategy(world), draw_rank(world, head, false)));
        }
    }
    Rank { number, posts }
}

fn draw_strategy(world: &World) -> Strategy {
    [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne][world.pick(3)]
}

fn draw_deeds(world: &World) -> Vec<Deed> {
    let waits = [Duration::ZERO, Duration::ZERO, MS / 10, 2 * MS];
    let deed = |_| Deed {
        wait: waits[world.pick(4)],
        seat: world.pick(SEATS),
        other: world.pick(SEATS),
        what: world.pick(100),
    };
    (0..DEEDS).map(deed).collect()
}

/// A client: a sender of its own, who finds each time whoever has the seat.
async fn client(me: usize, deeds: Vec<Deed>, yard: Arc<Yard>, watcher: Ref<Watcher>) {
    for (number, deed) in (1..).zip(deeds) {
        yard.clock.sleep(deed.wait).await;
        let Some(leaf) = yard.seat(deed.seat) else { continue };
        let parcel = || yard.tells.issue();
        let sent = match deed.what {
            0..37 => leaf.take(me, number, parcel()).try_send(),
            37..40 => leaf.plead(me, number, parcel()).try_send(),
            40..60 => leaf.take_slowly(me, number, parcel()).try_send(),
            60..66 => leaf.fall(me, number, parcel()).try_send(),
            66..69 => leaf.give_up(me, number, parcel()).try_send(),
            69..71 => leaf.leave(me, number, parcel()).try_send(),
            71..76 => leaf.arm(me, number, parcel()).try_send(),
            76..79 => match yard.seat(deed.other) {
                Some(other) => leaf.tie(me, number, other, parcel()).try_send(),
                None => continue,
            },
            79..87 => {
                drop(watcher.watch(leaf, deed.what == 79).try_send());
                continue;
            }
            _ => {
                let other = yard.seat(deed.other);
                let asked = leaf.question(me, number, other, yard.questions.issue());
                yard.note_outcome(&asked.within(2 * MS).await);
                continue;
            }
        };
        if let Err(error) = sent {
            error.into_message().returned();
        }
    }
}

/// Ends or fells somebody now and then.
async fn blows(plan: Vec<(Duration, usize, usize)>, yard: Arc<Yard>) {
    for (wait, place, how) in plan {
        yard.clock.sleep(wait).await;
        if (SEATS..SEATS + 2 * HEADS).contains(&place) {
            let blow = [Blow::Kill, Blow::Stop, Blow::Fall, Blow::Fall].into_iter().nth(how);
            yard.strike_head(1 + place % HEADS, blow.unwrap());
            continue;
        }
        let seat = place.checked_sub(SEATS + 2 * HEADS);
        match (seat, yard.seat(seat.unwrap_or(place))) {
            (Some(seat), Some(leaf)) => {
                let order = if how == 0 { Order::Remove } else { Order::Restart };
                yard.strike_head(seat / CREW, Blow::Lead(order, leaf));
            }
            (None, Some(leaf)) => yard.strike_leaf(&leaf, how),
            (_, None) => {}
        }
    }
}

/// Runs a tree whose outer supervisor has that policy.
fn play_with<P: Policy>(world: &mut World, system: &System, yard: &Arc<Yard>) {
    let rank = draw_rank(world, 0, true);
    let deeds: [_; CLIENTS] = std::array::from_fn(|_| draw_deeds(world));
    let plan = (0..BLOWS).map(|_| {
        let wait = MS * u32::try_from(world.pick(14)).unwrap();
        (wait, world.pick(PLACES), world.pick(4))
    });
    let plan: Vec<_> = plan.collect();
    let ending = world.pick(5);
    let watcher = world.run(system.spawn::<Watcher>(Watcher::new(yard)).into_future()).unwrap();
    let chief = system.spawn::<Head<P>>((rank, Arc::clone(yard)));
    let chief = world.run(chief.into_future()).expect("nobody fails at first");
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    for (me, deeds) in deeds.into_iter().enumerate() {
        let (done, work) = (done.clone(), client(me, deeds, Arc::clone(yard), watcher.clone()));
        world.spawn(async move {
            work.await;
            done.send(()).unwrap();
        });
    }
    world.spawn(blows(plan, Arc::clone(yard)));
    let patience = MS * u32::try_from(world.pick(40)).unwrap();
    world.run_within(LIMIT, async {
        yard.clock.sleep(patience).await;
        yard.chronicle.note_ending(ending == 2);
        match ending {
            0 => drop(chief.stop()),
            1 => drop(chief.kill()),
            2 => drop(chief.drain()),
            // Only when all is done.
            _ => {}
        }
        for _ in 0..CLIENTS {
            is_done.recv().await.unwrap();
        }
        chief.stop();
        chief.ended().await;
    });
    // Who was watched last may have ended before: its answer is on the way.
    world.run(async { system.await_idle(LONG).await.unwrap() });
    let downs = world.run(watcher.downs().into_future()).unwrap();
    world.run(system.shutdown(LONG)).unwrap();
    // What the tasks of actors held is dropped at their next await.
    world.settle();
    yard.chronicle.take_news();
    yard.settle(&system.counts());
    let notes = yard.chronicle.take();
    let judgement = Judgement::new(&notes);
    judgement.judge(&system.counts());
    let returns = Returns::judge(&notes);
    yard.chronicle.judge_downs(&downs, &judgement);
    judgement.mark(world);
    returns.mark(world);
    yard.mark(world);
}

/// Runs one tree, and judges what came of it.
pub(crate) fn play(world: &mut World) {
    let scheduling = SCHEDULINGS[world.pick(SCHEDULINGS.len())];
    let workers = 1 + world.pick(3);
    let settings = move |builder| scheduled(builder, scheduling);
    let node =
        world.node("yard").settings(move |builder| settings(builder.workers(workers))).start();
    let system = node.system();
    let yard = Yard::new(world, &system, SEATS, HEADS + 1, CLIENTS * DEEDS + BLOWS);
    let watched = Arc::clone(&yard);
    world.always("what happens is written down", move || {
        watched.chronicle.take_news();
        Ok(())
    });
    match draw_strategy(world) {
        Strategy::OneForOne => play_with::<OneForOne>(world, &system, &yard),
        Strategy::OneForAll => play_with::<OneForAll>(world, &system, &yard),
        _ => play_with::<RestForOne>(world, &system, &yard),
    }
    let policy = world.policy();
    let all = [
        Choosing::RoundRobin,
        Choosing::Random,
        Choosing::Pct(3),
        Choosing::Newest,
        Choosing::Starve,
    ];
    for each in all {
        world.sometimes(format!("{each:?}"), policy == each);
    }
}

// [G-SUPERVISE-1] [G-SUPERVISE-2] [G-SUPERVISE-3] [G-SUPERVISE-4] [G-SUPERVISE-5] [G-SUPERVISE-6] [G-RESTART-1]
// [G-RESTART-2] [G-RESTART-3] [G-RESTART-5] [G-ORDER-2] [G-DELIVERY-1] [G-WATCH-1] [G-LINK-1] [G-TIMER-4] [G-STREAM-2] [G-ASK-1]
#[test]
fn trees_do_as_on_paper() {
    Explore::new().seeds(SEEDS).allow_panics().twice().run(play);
}
