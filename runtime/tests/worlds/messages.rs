//! What a test of a world says of single messages: expected, allowed, not allowed.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::sim::{Explore, World};
use greenroom::{Actor, Context, Handle, Message, Ref, Scheduler, System, handlers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A message by hand, beside those that macros make.
#[derive(Debug, Message)]
struct Ball(u32);

/// Returns a ball until it is worn.
#[derive(Actor)]
struct Player {
    other: Option<Ref<Self>>,
    ticks: u32,
}

#[handlers]
impl Player {
    #[start]
    fn start(cx: &mut Context<Self>) -> Self {
        cx.after(SECOND, Self::tick);
        Self { other: None, ticks: 0 }
    }
    #[tell]
    fn meet(&mut self, other: Ref<Self>) {
        self.other = Some(other);
    }
    #[local]
    fn tick(&mut self) {
        self.ticks += 1;
    }
    #[ask]
    async fn ask_other(&mut self) -> u32 {
        self.other.as_ref().unwrap().ticks().await.unwrap()
    }
    #[ask]
    fn ticks(&self) -> u32 {
        self.ticks
    }
}

impl Handle<Ball> for Player {
    fn handle(&mut self, ball: Ball, _: &mut Context<Self>) {
        if let (Some(other), Some(left)) = (&self.other, ball.0.checked_sub(1)) {
            other.tell(Ball(left)).tell().unwrap();
        }
    }
}

/// Two players who know each other.
fn pair(world: &mut World, system: &System) -> [Ref<Player>; 2] {
    world.run(async {
        let one = system.spawn::<Player>(()).await.unwrap();
        let two = system.spawn::<Player>(()).await.unwrap();
        one.meet(two.clone()).await.unwrap();
        two.meet(one.clone()).await.unwrap();
        [one, two]
    })
}

fn court(world: &mut World) -> [Ref<Player>; 2] {
    let system = world.node("court").start().system();
    pair(world, &system)
}

fn serve(player: &Ref<Player>, wear: u32) {
    player.tell(Ball(wear)).tell().unwrap();
}

#[test]
fn messages_come_from_one_and_go_to_the_other_in_order() {
    Explore::new().seeds(40).run(|world| {
        let [one, two] = court(world);
        world.disallow::<Ball>().within(Duration::from_millis(1));
        serve(&one, 4);
        world.expect::<Ball>().from_outside().to(&one).when(|ball| ball.0 == 4).within(SECOND);
        for left in [3, 1] {
            world.expect::<Ball>().from(&one).to(&two).when(move |b| b.0 == left).within(SECOND);
            world
                .expect::<Ball>()
                .from(&two)
                .to(&one)
                .when(move |b| b.0 + 1 == left)
                .within(SECOND);
        }
        world.disallow::<Ball>().within(SECOND);
    });
}

#[test]
fn asks_are_seen_with_who_asks_while_it_waits() {
    Explore::new().seeds(40).run(|world| {
        let [one, two] = court(world);
        world.disallow::<Ball>().within(Duration::from_millis(1));
        let asker = one.clone();
        world.spawn(async move { assert_eq!(asker.ask_other().await, Ok(0)) });
        let is_ticks = |message: &PlayerMessage| matches!(message, PlayerMessage::Ticks { .. });
        let is_question =
            |message: &PlayerMessage| matches!(message, PlayerMessage::AskOther { .. });
        world
            .expect::<PlayerMessage>()
            .from_outside()
            .to(&one)
            .when(is_question)
            .within(SECOND / 2);
        world.expect::<PlayerMessage>().from(&one).to(&two).when(is_ticks).within(SECOND / 4);
        assert!(!world.allow::<PlayerMessage>().within(SECOND), "timers are no mail");
    });
}

#[test]
fn messages_with_a_deadline_are_seen_as_what_they_are() {
    let mut world = World::new(5);
    let [one, two] = court(&mut world);
    world.disallow::<Ball>().within(Duration::from_millis(1));
    one.tell(Ball(7)).within(SECOND).tell().unwrap();
    world.expect::<Ball>().from_outside().to(&one).when(|ball| ball.0 == 7).within(SECOND);
    world.expect::<Ball>().from(&one).to(&two).when(|ball| ball.0 == 6).within(SECOND);
}

#[test]
fn where_the_oldest_is_dropped_nobody_is_taken_for_the_sender() {
    #[derive(Actor)]
    #[actor(mailbox = bounded(2, full = drop_oldest))]
    struct Last;
    #[handlers]
    impl Last {}
    impl Handle<Ball> for Last {
        fn handle(&mut self, _: Ball, _: &mut Context<Self>) {}
    }
    #[derive(Actor)]
    struct Sender(Ref<Last>);
    #[handlers]
    impl Sender {
        #[tell]
        fn two(&mut self) {
            for number in [7, 8] {
                self.0.tell(Ball(number)).tell().unwrap();
            }
        }
    }
    for seed in 0..20 {
        let mut world = World::new(seed);
        let system = world.node("here").start().system();
        let (last, sender) = world.run(async {
            let last = system.spawn::<Last>(Last).await.unwrap();
            (last.clone(), system.spawn::<Sender>(Sender(last)).await.unwrap())
        });
        world.disallow::<Ball>().within(Duration::from_millis(1));
        for number in [1, 2] {
            last.tell(Ball(number)).tell().unwrap();
        }
        sender.two().try_send().unwrap();
        // The actor's own pushed these out, or did not.
        assert!(!world.allow::<Ball>().from_outside().to(&last).within(SECOND / 2));
        last.tell(Ball(3)).tell().unwrap();
        world.expect::<Ball>().to(&last).when(|ball| ball.0 == 3).within(SECOND);
    }
}

#[test]
fn messages_to_other_nodes_and_in_small_mailboxes_are_seen() {
    #[derive(Actor)]
    #[actor(mailbox = bounded(1, full = drop_oldest))]
    struct Last(u32);
    #[handlers]
    impl Last {}
    impl Handle<Ball> for Last {
        fn handle(&mut self, ball: Ball, _: &mut Context<Self>) {
            self.0 = ball.0;
        }
    }
    let mut world = World::new(3);
    let here = world.node("here").start().system();
    let there = world.node("there").start().system();
    let last = world.run(async { there.spawn::<Last>(Last(0)).await.unwrap() });
    let [one, two] = pair(&mut world, &here);
    world.disallow::<Ball>().within(Duration::from_millis(1));
    for number in 1..=3 {
        last.tell(Ball(number)).tell().unwrap();
    }
    world.expect::<Ball>().to(&last).when(|ball| ball.0 == 3).within(SECOND);
    serve(&one, 1);
    world.expect::<Ball>().from(&one).to(&two).within(SECOND);
}

#[test]
fn a_failure_says_what_was_seen_instead() {
    let failure = |check: fn(&mut World, &[Ref<Player>; 2])| {
        let mut names = [String::new(), String::new()];
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut world = World::new(5);
            let players = court(&mut world);
            names = players.each_ref().map(|player| player.id().to_string());
            world.disallow::<Ball>().within(Duration::from_millis(1));
            serve(&players[0], 1);
            check(&mut world, &players);
        }));
        let text = *outcome.expect_err("the check fails").downcast::<String>().unwrap();
        text.replace(&names[0], "One").replace(&names[1], "Two")
    };
    let text = failure(|world, [one, two]| {
        world.expect::<Ball>().from(two).to(one).within(SECOND);
    });
    assert!(text.contains("an expected message did not come"), "{text}");
    assert!(text.contains("Ball from Two to One within 1s"), "{text}");
    assert!(text.contains("\n  Ball from outside to One\n  Ball from One to Two"), "{text}");
    let text = failure(|world, [_, two]| {
        world.disallow::<Ball>().to(two).within(SECOND);
    });
    assert!(text.contains("a message came that is not allowed"), "{text}");
    let text = failure(|world, [one, _]| {
        world.run_for(SECOND);
        world.expect::<Ball>().to(one).within(SECOND);
    });
    assert!(text.contains("no message was handled"), "{text}");
}

#[test]
fn where_mail_is_carried_nobody_knows_its_sender() {
    let mut world = World::new(7);
    let node = world.node("court").settings(|builder| builder.scheduler(Scheduler::per_core()));
    let system = node.start().system();
    let [one, two] = pair(&mut world, &system);
    world.disallow::<Ball>().within(Duration::from_millis(1));
    serve(&one, 1);
    world.expect::<Ball>().to(&two).within(SECOND);
    serve(&one, 1);
    assert!(!world.allow::<Ball>().from(&one).to(&two).within(SECOND));
}
