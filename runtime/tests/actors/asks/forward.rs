//! A question that is handed on: another actor answers the asker.

use crate::support::{LONG, everywhere, on, poll_once, soon, until_async};
use greenroom::{
    Actor, AskError, Context, DeadLetterReason, Interleaved, Ref, Reply, Scheduler, handlers,
};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longer than what it takes until asks are looked at a few times.
const A_FEW_LOOKS: Duration = Duration::from_millis(60);

/// Knows the answers.
#[derive(Actor, Default)]
#[actor(mailbox = bounded(2))]
struct Expert {
    asked: u32,
}

#[handlers]
impl Expert {
    #[ask]
    fn double(&mut self, number: u32) -> u32 {
        self.asked += 1;
        number * 2
    }
    #[ask]
    fn half(&self, number: u32) -> Result<u32, String> {
        if number.is_multiple_of(2) { Ok(number / 2) } else { Err(format!("{number} is odd")) }
    }
    #[ask]
    fn remaining(&self, cx: &mut Context<Self>) -> Duration {
        cx.remaining()
    }
    #[ask(cancel)]
    async fn think(&mut self, gate: oneshot::Receiver<u32>) -> u32 {
        gate.await.unwrap_or_default()
    }
    /// Keeps the others waiting.
    #[tell]
    async fn hold(&mut self, entered: oneshot::Sender<()>, gate: oneshot::Receiver<()>) {
        let _ = entered.send(());
        let _ = gate.await;
    }
    #[ask]
    async fn ask_back(&mut self, desk: Ref<Desk>) -> Result<u32, AskError> {
        desk.kept().within(LONG).await
    }
    #[ask]
    fn panic(&self) -> u32 {
        panic!("planned")
    }
}

/// Hands on what it is asked.
#[derive(Actor)]
#[actor(interleave = 4)]
struct Desk {
    expert: Ref<Expert>,
    kept: Vec<(u32, Reply<u32>)>,
}

#[handlers]
impl Desk {
    #[start]
    fn start(expert: Ref<Expert>) -> Self {
        Self { expert, kept: Vec::new() }
    }
    #[ask]
    async fn double(&self, number: u32, reply: Reply<u32>) {
        match number {
            0 => reply.send(0),
            _ => reply.forward(self.expert.double(number)).await,
        }
    }
    #[ask]
    fn double_at_once(&mut self, number: u32, reply: Reply<u32>) {
        reply.forward(self.expert.double(number)).try_send();
    }
    #[interleave]
    #[ask]
    async fn double_meanwhile(number: u32, reply: Reply<u32>, cx: &mut Interleaved<Self>) {
        let expert = cx.with(|me, _| me.expert.clone());
        tokio::task::yield_now().await;
        reply.forward(expert.double(number)).await;
    }
    #[ask]
    fn half(&mut self, number: u32, reply: Reply<Result<u32, String>>) {
        reply.forward(self.expert.half(number)).try_send();
    }
    #[ask]
    async fn remaining(&mut self, within: Option<Duration>, reply: Reply<Duration>) {
        let question = self.expert.remaining();
        reply.forward(within.map_or(self.expert.remaining(), |time| question.within(time))).await;
    }
    #[ask]
    async fn think(&mut self, gate: oneshot::Receiver<u32>, reply: Reply<u32>) {
        reply.forward(self.expert.think(gate)).await;
    }
    #[ask]
    fn panic(&mut self, reply: Reply<u32>) {
        reply.forward(self.expert.panic()).try_send();
    }
    /// Hands the question to and fro with `other`, so many times.
    #[ask]
    async fn bounce(
        &mut self,
        other: Ref<Self>,
        times: u32,
        reply: Reply<u32>,
        cx: &mut Context<Self>,
    ) {
        match times {
            0 => reply.forward(self.expert.double(21)).await,
            _ => reply.forward(other.bounce(cx.me(), times - 1)).await,
        }
    }
    #[ask]
    fn keep(&mut self, number: u32, reply: Reply<u32>) {
        self.kept.push((number, reply));
    }
    #[tell]
    async fn hand_on(&mut self) {
        for (number, reply) in self.kept.drain(..) {
            reply.forward(self.expert.double(number)).await;
        }
    }
    #[ask]
    fn kept(&self) -> u32 {
        self.kept.len().try_into().expect("they are few")
    }
    /// Holds itself up until `gate` opens.
    #[tell]
    async fn rest(&mut self, gate: oneshot::Receiver<()>) {
        let _ = gate.await;
    }
    /// Waits for what the expert answers, who may ask back.
    #[ask]
    async fn consult(&mut self, cx: &mut Context<Self>) -> Result<u32, AskError<AskError>> {
        self.expert.ask_back(cx.me()).within(LONG).await
    }
    /// Waits in the handler for what `other` hands on.
    #[ask]
    async fn double_by(&mut self, other: Ref<Self>, number: u32) -> Result<u32, AskError> {
        other.keep(number).within(LONG).await
    }
    #[ask]
    async fn kept_by(&mut self, other: Ref<Self>) -> Result<u32, AskError> {
        other.kept().within(LONG).await
    }
}

async fn desk(system: &greenroom::System) -> (Ref<Desk>, Ref<Expert>) {
    let expert = system.spawn::<Expert>(Expert::default()).await.unwrap();
    (system.spawn::<Desk>(expert.clone()).await.unwrap(), expert)
}

/// Keeps the expert busy until what is returned is sent to.
async fn hold(expert: &Ref<Expert>) -> oneshot::Sender<()> {
    let ((entered, is_in), (open, gate)) = (oneshot::channel(), oneshot::channel());
    expert.hold(entered, gate).await.unwrap();
    soon(is_in).await.unwrap();
    open
}

// [G-FORWARD-1]
#[test]
fn whoever_it_was_handed_to_answers() {
    everywhere(async |system| {
        let (desk, expert) = desk(system).await;
        for number in 0..100 {
            assert_eq!(desk.double(number).await, Ok(2 * number));
            assert_eq!(desk.double_at_once(number).await, Ok(2 * number));
        }
        assert_eq!(desk.double_meanwhile(7).await, Ok(14));
        assert_eq!(desk.half(8).await, Ok(4));
        assert_eq!(desk.half(7).await, Err(AskError::Failed("7 is odd".to_owned())));
        let other = system.spawn::<Desk>(expert).await.unwrap();
        assert_eq!(desk.bounce(other, 10_000).within(LONG).await, Ok(42));
        assert_eq!(system.counts().late_replies, 0);
    });
}

// [G-FORWARD-1]
#[test]
fn the_deadline_goes_on_with_it() {
    everywhere(async |system| {
        let (desk, expert) = desk(system).await;
        let remaining = desk.remaining(None).within(LONG * 2).await.unwrap();
        assert!(remaining <= LONG * 2 && remaining > LONG, "not the default: {remaining:?}");
        let remaining = desk.remaining(Some(LONG / 2)).within(LONG * 2).await.unwrap();
        assert!(remaining <= LONG / 2, "the question's own: {remaining:?}");
        let remaining = desk.remaining(Some(LONG * 3)).within(LONG).await.unwrap();
        assert!(remaining <= LONG, "the asker's: {remaining:?}");

        // What has expired does not begin, there either.
        let mut dead = system.dead_letters();
        let open = hold(&expert).await;
        let mut timeout = Duration::from_millis(20);
        loop {
            let late = desk.double(1).within(timeout).await;
            assert_eq!(late, Err(AskError::Expired));
            assert_eq!(
                desk.kept().await,
                Ok(0),
                "the question has been handed on, or did not begin"
            );
            if dead.try_next().is_none() {
                break;
            }
            timeout *= 2;
        }
        open.send(()).unwrap();
        let letter = soon(dead.next()).await.unwrap();
        assert_eq!((letter.actor, letter.reason), (expert.id(), DeadLetterReason::Expired));
    });
}

// [G-FORWARD-1]
#[test]
fn an_asker_that_goes_is_gone_there_too() {
    everywhere(async |system| {
        let (desk, expert) = desk(system).await;
        let (mut open, gate) = oneshot::channel();
        let mut question = desk.think(gate).within(LONG).into_future();
        assert!(poll_once(&mut question).is_pending());
        assert_eq!(desk.kept().await, Ok(0), "the question has been handed on");
        drop(question);
        // The handler, which waits for the gate, is dropped, or did not begin.
        soon(open.closed()).await;
        assert_eq!(expert.double(2).await, Ok(4), "it is free again");
        assert_eq!(system.counts().dead_cancelled, 1);
    });
}

// [G-FORWARD-1]
#[test]
fn the_asker_learns_why_it_gets_no_answer() {
    everywhere(async |system| {
        let (desk, expert) = desk(system).await;
        assert_eq!(desk.panic().await, Err(AskError::NoReply));
        soon(expert.ended()).await;
        assert_eq!(desk.double(1).await, Err(AskError::Closed));
        assert_eq!(desk.double_at_once(1).await, Err(AskError::Closed));
        assert_eq!(desk.half(1).await, Err(AskError::Closed));
        assert_eq!(desk.double(0).await, Ok(0), "nothing happened to the one who hands on");
    });
}

// [G-FORWARD-1]
#[test]
fn a_full_mailbox_is_waited_for_or_refuses() {
    everywhere(async |system| {
        let (desk, expert) = desk(system).await;
        let open = hold(&expert).await;
        // Two fit behind what is held.
        let mut outcomes = Vec::new();
        for number in 1..=6 {
            let mut question = desk.double_at_once(number).within(LONG).into_future();
            let early = poll_once(&mut question);
            outcomes.push((number, question, early));
        }
        assert_eq!(desk.kept().await, Ok(0), "all were handed on, or refused");
        let mut waiting = desk.double(50).within(LONG).into_future();
        assert!(poll_once(&mut waiting).is_pending());
        open.send(()).unwrap();
        assert_eq!(soon(waiting).await, Ok(100));
        let mut refused = 0;
        for (number, question, early) in outcomes {
            let outcome = match early {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => soon(question).await,
            };
            match outcome {
                Ok(answer) => assert_eq!(answer, 2 * number),
                Err(AskError::Refused) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(refused, 4);
    });
}

// [G-FORWARD-1] [G-DEADLINE-1]
#[test]
fn nobody_waits_for_room_longer_than_the_asker() {
    everywhere(async |system| {
        let (desk, expert) = desk(system).await;
        let open = hold(&expert).await;
        let asks: Vec<_> = (1..=2)
            .map(|number| {
                let mut question = expert.double(number).within(LONG).into_future();
                assert!(poll_once(&mut question).is_pending(), "there is room for two");
                question
            })
            .collect();
        let late = desk.double(3).within(Duration::from_millis(20)).await;
        assert_eq!(late, Err(AskError::Expired));
        assert_eq!(desk.double(0).within(LONG).await, Ok(0), "the one who hands on is free again");
        open.send(()).unwrap();
        for ask in asks {
            soon(ask).await.unwrap();
        }
    });
}

// [G-FORWARD-1] [G-DEADLINE-1]
#[test]
fn the_asker_hears_that_its_question_expired_on_the_way() {
    everywhere(async |system| {
        let (desk, _) = desk(system).await;
        let outcome = desk.remaining(Some(Duration::ZERO)).within(LONG).await;
        assert_eq!(outcome, Err(AskError::Expired));
    });
}

// [G-CYCLE-1] [G-CYCLE-2]
#[test]
fn who_waits_for_what_was_handed_on_is_on_no_cycle() {
    on(2, Scheduler::stealing(), async |system| {
        let (first, expert) = desk(system).await;
        let second = system.spawn::<Desk>(expert.clone()).await.unwrap();
        // The first waits for an answer that the expert will give, and the second for the first.
        let mut doubled = first.double_by(second.clone(), 4).within(LONG).into_future();
        assert!(poll_once(&mut doubled).is_pending());
        until_kept(&second).await;
        let open = hold(&expert).await;
        second.hand_on().await.unwrap();
        let mut back = second.kept_by(first.clone()).within(LONG).into_future();
        assert!(poll_once(&mut back).is_pending());
        tokio::time::sleep(A_FEW_LOOKS).await;
        assert!(poll_once(&mut doubled).is_pending() && poll_once(&mut back).is_pending());
        open.send(()).unwrap();
        assert_eq!(soon(doubled).await, Ok(8));
        assert_eq!(soon(back).await, Ok(0));
        assert_eq!(system.counts().ask_cycles, 0);
        // Questions that such an actor answers itself are looked at as ever.
        let circle = soon(first.consult().within(LONG).into_future()).await;
        assert!(format!("{circle:?}").contains("Cycle"), "{circle:?}");
        assert_eq!(system.counts().ask_cycles, 1);
    });
}

async fn until_kept(desk: &Ref<Desk>) {
    until_async(async || desk.kept().await == Ok(1)).await;
}

#[test]
fn what_is_not_handed_on_after_all_is_not_answered() {
    on(1, Scheduler::stealing(), async |system| {
        let (desk, _) = desk(system).await;
        let mut question = desk.keep(1).within(LONG).into_future();
        assert!(poll_once(&mut question).is_pending());
        until_kept(&desk).await;
        desk.kill();
        assert_eq!(soon(question).await, Err(AskError::NoReply));
    });
}
