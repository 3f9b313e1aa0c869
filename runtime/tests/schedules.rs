//! The whole runtime under shuttle: real workers, real actors, and a schedule that shuttle draws, step by
//! step. Each workload must end with every message accounted for, in order for each pair of actors, and
//! no actor ever run by two workers.
//!
//! Built only with `--cfg shuttle`. A failure prints its schedule, which `GREENROOM_SCHEDULE` repeats.

#![cfg(shuttle)]

mod stage;

use stage::{Plan, Scene, explore};

#[test]
fn mesh_on_the_stealing_queue() {
    explore(Plan::stealing(3), mesh);
}

#[test]
fn mesh_while_duty_changes() {
    explore(Plan::auto(3), mesh);
}

#[test]
fn mesh_on_the_locked_queue() {
    explore(Plan::locked(2), mesh);
}

#[test]
fn fan_in_on_the_stealing_queue() {
    explore(Plan::stealing(4), fan_in);
}

#[test]
fn fan_in_while_duty_changes() {
    explore(Plan::auto(2), fan_in);
}

#[test]
fn fan_in_on_the_locked_queue() {
    explore(Plan::locked(2), fan_in);
}

#[test]
fn ring_on_the_stealing_queue() {
    explore(Plan::stealing(2), ring);
}

#[test]
fn ring_while_duty_changes() {
    explore(Plan::auto(3), ring);
}

#[test]
fn ring_on_the_locked_queue() {
    explore(Plan::locked(3), ring);
}

#[test]
fn churn_on_the_stealing_queue() {
    explore(Plan::stealing(3), churn);
}

#[test]
fn churn_while_duty_changes() {
    explore(Plan::auto(3), churn);
}

#[test]
fn churn_on_the_locked_queue() {
    explore(Plan::locked(2), churn);
}

#[test]
fn drains_on_the_stealing_queue() {
    explore(Plan::stealing(3), drains);
}

#[test]
fn drains_while_duty_changes() {
    explore(Plan::auto(2), drains);
}

#[test]
fn drains_on_the_locked_queue() {
    explore(Plan::locked(2), drains);
}

#[test]
fn drains_on_rings_between_cores() {
    explore(Plan::per_core(2), drains);
}

#[test]
fn sleepers_on_the_stealing_queue() {
    explore(Plan::stealing(2), sleepers);
}

#[test]
fn asks_on_the_stealing_queue() {
    explore(Plan::stealing(3), asks);
}

#[test]
fn asks_on_the_locked_queue() {
    explore(Plan::locked(2), asks);
}

#[test]
fn restarts_on_the_stealing_queue() {
    explore(Plan::stealing(3), restarts);
}

#[test]
fn restarts_on_the_locked_queue() {
    explore(Plan::locked(2), restarts);
}

#[test]
fn supervision_on_the_stealing_queue() {
    explore(Plan::stealing(2), supervision);
}

#[test]
fn supervision_on_rings_between_cores() {
    explore(Plan::per_core(2), supervision);
}

#[test]
fn names_on_the_stealing_queue() {
    explore(Plan::stealing(2), names);
}

#[test]
fn latecomers_on_the_locked_queue() {
    explore(Plan::locked(2), latecomers);
}

#[test]
fn mesh_on_the_lock_free_queue() {
    explore(Plan::lock_free(2), mesh);
}

#[test]
fn fan_in_on_the_lock_free_queue() {
    explore(Plan::lock_free(2), fan_in);
}

#[test]
fn ring_on_the_lock_free_queue() {
    explore(Plan::lock_free(3), ring);
}

#[test]
fn churn_on_the_lock_free_queue() {
    explore(Plan::lock_free(3), churn);
}

#[test]
fn drains_on_the_lock_free_queue() {
    explore(Plan::lock_free(2), drains);
}

#[test]
fn asks_on_the_lock_free_queue() {
    explore(Plan::lock_free(2), asks);
}

#[test]
fn restarts_on_the_lock_free_queue() {
    explore(Plan::lock_free(2), restarts);
}

#[test]
fn mesh_on_rings_between_cores() {
    explore(Plan::per_core(3), mesh);
}

#[test]
fn fan_in_on_rings_between_cores() {
    explore(Plan::per_core(2), fan_in);
}

#[test]
fn ring_on_rings_between_cores() {
    explore(Plan::per_core(3), ring);
}

#[test]
fn churn_on_rings_between_cores() {
    explore(Plan::per_core(2), churn);
}

#[test]
fn asks_on_rings_between_cores() {
    explore(Plan::per_core(2), asks);
}

#[test]
fn restarts_on_rings_between_cores() {
    explore(Plan::per_core(2), restarts);
}

#[test]
fn wandering_on_rings_between_cores() {
    explore(Plan::per_core(2), wandering);
}

#[test]
fn wandering_between_three_cores() {
    explore(Plan::per_core(3), wandering);
}

#[test]
fn crossing_between_three_cores() {
    explore(Plan::per_core(3), crossing);
}

#[test]
fn overflow_between_three_cores() {
    explore(Plan::per_core(3), overflow);
}

/// A sender moves away from mail of its own that its ring had no room for.
async fn overflow(scene: &Scene) {
    let actors = scene.spawn(5).await;
    let sender = &actors[0];
    // Both on one worker, and in turns, so that no two messages travel together.
    scene.tell(sender.meet(vec![actors[1].clone(), actors[4].clone()]));
    scene.tell(sender.flood(2));
    scene.done(1).await;
    scene.migrate(sender, 2);
    scene.tell(sender.flood(1));
    scene.done(6).await;
}

/// A sender and its receiver change places, while a third worker may be slow to answer.
async fn crossing(scene: &Scene) {
    let actors = scene.spawn(3).await;
    let [sender, receiver, other] = [&actors[0], &actors[1], &actors[2]];
    for actor in [sender, other] {
        scene.tell(actor.meet(vec![receiver.clone()]));
    }
    scene.tell(other.flood(1));
    scene.migrate(receiver, 0);
    scene.tell(sender.flood(1));
    scene.tell(sender.flood(1));
    scene.migrate(sender, 1);
    scene.tell(sender.flood(1));
    scene.done(4).await;
}

/// As `mesh`, while the actors move to other workers.
async fn wandering(scene: &Scene) {
    let actors = scene.spawn(3).await;
    for actor in &actors {
        scene.tell(actor.meet(actors.clone()));
    }
    for (number, actor) in actors.iter().enumerate() {
        scene.tell(actor.flood(2));
        scene.migrate(actor, number + 1);
    }
    scene.migrate(&actors[0], 2);
    for actor in &actors {
        actor.drain();
    }
}

/// Three actors each send two messages to both others.
async fn mesh(scene: &Scene) {
    let actors = scene.spawn(3).await;
    for actor in &actors {
        scene.tell(actor.meet(actors.clone()));
    }
    for actor in &actors {
        scene.tell(actor.flood(2));
    }
    scene.done(12).await;
}

/// Five actors and this thread send to one; its ring overflows.
async fn fan_in(scene: &Scene) {
    let actors = scene.spawn(6).await;
    let target = vec![actors[0].clone()];
    for actor in &actors[1..] {
        scene.tell(actor.meet(target.clone()));
        scene.tell(actor.flood(2));
    }
    for count in 0..3 {
        scene.send(&actors[0], count);
    }
    scene.done(13).await;
}

/// Two tokens go round among three actors.
async fn ring(scene: &Scene) {
    let actors = scene.spawn(3).await;
    for (index, actor) in actors.iter().enumerate() {
        let next = actors[(index + 1) % actors.len()].clone();
        scene.tell(actor.meet(vec![next]));
    }
    for actor in &actors[..2] {
        scene.tell(actor.pass(4));
    }
    scene.done(10).await;
}

/// Actors send to others that stop or are killed meanwhile, and new ones come.
async fn churn(scene: &Scene) {
    let actors = scene.spawn(3).await;
    scene.tell(actors[0].meet(actors[1..].to_vec()));
    scene.tell(actors[0].flood(2));
    actors[1].stop();
    let more = scene.spawn(2).await;
    for count in 0..2 {
        scene.send(&actors[1], count);
        scene.send(&more[0], count);
    }
    actors[2].kill();
    more[0].drain();
    scene.tell(more[1].meet(actors.clone()));
    scene.tell(more[1].flood(1));
}

/// An actor and two threads send to an actor that drains meanwhile.
async fn drains(scene: &Scene) {
    let actors = scene.spawn(2).await;
    let target = &actors[0];
    scene.tell(actors[1].meet(vec![target.clone()]));
    scene.tell(actors[1].flood(2));
    let there = target.clone();
    let sender = scene.thread(async move |scene| scene.tell(there.meet(Vec::new())));
    let there = target.clone();
    let closer = scene.thread(async move |_| {
        there.drain();
    });
    for count in 0..2 {
        scene.send(target, count);
    }
    for thread in [sender, closer] {
        thread.join().expect("it ends");
    }
    scene.drained(target).await;
}

/// A thread drains an actor that sleeps while another one sends to it: it starts for nothing but what it was sent.
async fn sleepers(scene: &Scene) {
    let target = scene.asleep();
    let there = target.clone();
    let closer = scene.thread(async move |_| {
        there.drain();
    });
    scene.send(&target, 0);
    closer.join().expect("it ends");
    scene.drained(&target).await;
    scene.started_for_what_was_sent();
}

/// Two actors ask a third one, which stops some time.
async fn asks(scene: &Scene) {
    let actors = scene.spawn(3).await;
    for actor in &actors[1..] {
        scene.tell(actor.meet(vec![actors[0].clone()]));
        scene.tell(actor.inquire(2));
    }
    scene.ask(&actors[0], 21).await;
    actors[0].stop();
    scene.ask(&actors[0], 22).await;
    scene.done(6).await;
}

/// Two actors send to a third one, which panics in between and starts again.
async fn restarts(scene: &Scene) {
    let actors = scene.spawn(3).await;
    for actor in &actors[1..] {
        scene.tell(actor.meet(vec![actors[0].clone()]));
        scene.tell(actor.flood(2));
        scene.tell(actors[0].panic());
    }
    scene.done(4).await;
}

/// Two of three that are restarted together fall, at once or one after the other, while work comes for
/// all of them.
async fn supervision(scene: &Scene) {
    let mates = scene.crew(3).await;
    let last = mates[2].clone();
    let other = scene.thread(async move |scene| {
        scene.tell(last.fall());
        scene.tell(last.work());
    });
    for mate in &mates[..2] {
        scene.tell(mate.work());
        scene.tell(mates[0].fall());
    }
    other.join().expect("it ends");
    scene.done(6).await;
}

/// An actor with a name is looked for, sent to and stopped, and its name is given to the next one.
async fn names(scene: &Scene) {
    let seeker = scene.thread(async |scene| {
        for count in 0..3 {
            if let Some(found) = scene.find("one") {
                scene.tell(found.take(count, 0));
            }
        }
    });
    let mut given = 0;
    while given < 2 {
        if let Some(actor) = scene.spawn_named("one").await {
            given += 1;
            actor.stop();
        }
    }
    seeker.join().expect("it ends");
}

/// Actors are spawned by another thread while the system shuts down.
async fn latecomers(scene: &Scene) {
    scene.thread(async |scene| {
        for _ in 0..2 {
            if let Some(actor) = scene.spawn_late().await {
                scene.send(&actor, 0);
            }
        }
    });
}
