//! Actors with states of types of their own: each message has its handler, is refused, or waits for its state.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, everywhere, poll_once, soon};
use greenroom::{
    Actor, AskError, Context, DeadLetterReason, Event, ExitReason, Ref, State, States, System,
    handlers,
};
use std::time::Duration;

#[derive(Debug)]
struct Idle {
    calls: u32,
}
#[derive(Debug)]
struct Dialing {
    to: String,
}
#[derive(Debug)]
struct Open {
    to: String,
    sent: Vec<u32>,
}

#[derive(Debug, States)]
enum Line {
    Idle(Idle),
    Dialing(Dialing),
    Open(Open),
}

#[derive(Actor)]
#[actor(stash = 3, restart = transient(100 in "1h"))]
struct Phone {
    ended: u32,
    line: State<Line>,
}

#[handlers(state = line)]
impl Phone {
    #[start]
    fn start() -> Self {
        Self { ended: 0, line: State::new(Idle { calls: 0 }) }
    }
    #[tell]
    fn dial(&mut self, #[state] _idle: Idle, to: String) -> Dialing {
        assert!(self.line.get().is_none(), "the handler has it");
        Dialing { to }
    }
    /// The other end has answered, or not.
    #[ask]
    fn answered(
        &mut self,
        yes: bool,
        #[state] dialing: Dialing,
        cx: &mut Context<Self>,
    ) -> (Line, usize) {
        let waiting = cx.stashed();
        let next = if yes {
            Open { to: dialing.to, sent: Vec::new() }.into()
        } else {
            Idle { calls: 0 }.into()
        };
        (next, waiting)
    }
    /// Enters a state though it was given the present one, which stays.
    #[tell]
    fn fumble(&mut self, #[state] dialing: &mut Dialing, cx: &mut Context<Self>) {
        self.line.enter(Open { to: dialing.to.clone(), sent: Vec::new() }, cx);
    }
    #[ask]
    #[stash]
    fn send(&mut self, #[state] open: &mut Open, word: u32) -> String {
        open.sent.push(word);
        format!("{word} to {}", open.to)
    }
    #[tell]
    #[stash]
    async fn send_later(&mut self, #[state] open: &mut Open, word: u32) -> Result<(), String> {
        tokio::task::yield_now().await;
        open.sent.push(word);
        if word == 13 { Err("unlucky".to_owned()) } else { Ok(()) }
    }
    #[ask]
    async fn hang_up(&mut self, #[state] open: Open) -> (Idle, Vec<u32>) {
        tokio::task::yield_now().await;
        self.ended += 1;
        (Idle { calls: self.ended }, open.sent)
    }
    #[ask]
    fn calls(&mut self, #[state] idle: &mut Idle) -> u32 {
        idle.calls
    }
    #[tell]
    fn drop_it(&mut self, #[state] _open: Open) -> Idle {
        panic!("as told");
    }
    /// In every state.
    #[ask]
    fn state(&self) -> String {
        format!("{:?}", self.line)
    }
    #[tell]
    fn time_out_after(&mut self, time: Duration, cx: &mut Context<Self>) {
        cx.after(time, Self::time_out);
    }
    #[local]
    fn time_out(&mut self, cx: &mut Context<Self>) {
        self.line.enter(Open { to: "nobody".to_owned(), sent: Vec::new() }, cx);
    }
}

async fn phone(system: &System) -> Ref<Phone> {
    system.spawn::<Phone>(()).await.unwrap()
}

// [G-STATE-1]
#[test]
fn a_message_is_handled_in_its_state_and_leads_to_the_next() {
    everywhere(async |system| {
        let phone = phone(system).await;
        assert_eq!(phone.calls().await, Ok(0));
        phone.dial("Ann".to_owned()).await.unwrap();
        assert_eq!(phone.state().await.unwrap(), r#"State(Some(Dialing(Dialing { to: "Ann" })))"#);
        assert_eq!(phone.answered(true).await, Ok(0));
        assert_eq!(phone.send(1).await, Ok("1 to Ann".to_owned()));
        phone.send_later(2).await.unwrap();
        assert_eq!(phone.hang_up().await, Ok(vec![1, 2]));
        assert_eq!(phone.calls().await, Ok(1));
    });
}

// [G-STATE-2] [G-DELIVERY-1]
#[test]
fn what_has_no_handler_in_this_state_is_refused() {
    everywhere(async |system| {
        let phone = phone(system).await;
        let mut letters = system.dead_letters();
        assert_eq!(phone.hang_up().await, Err(AskError::Refused));
        phone.drop_it().await.unwrap();
        for _ in 0..2 {
            let letter = soon(letters.next()).await.unwrap();
            assert_eq!((letter.actor, letter.reason), (phone.id(), DeadLetterReason::Refused));
        }
        assert_eq!(phone.calls().await, Ok(0));
        phone.dial("Ann".to_owned()).await.unwrap();
        phone.dial("Bob".to_owned()).await.unwrap();
        assert_eq!(phone.calls().await, Err(AskError::Refused));
        assert!(phone.state().await.unwrap().contains("Ann"), "the second call was refused");
        assert_eq!(system.counts().dead_refused, 4);
    });
}

// [G-STATE-2] [G-STASH-1] [G-STASH-2]
#[test]
fn what_is_stashed_comes_back_with_a_change_of_state() {
    everywhere(async |system| {
        let phone = phone(system).await;
        phone.send_later(1).await.unwrap();
        let asker = phone.clone();
        let mut second = Box::pin(async { asker.send(2).within(LONG).await });
        assert!(poll_once(&mut second).is_pending());
        phone.send_later(3).await.unwrap();
        // There is room for three.
        assert_eq!(phone.send(4).await, Err(AskError::Refused));
        phone.dial("Ann".to_owned()).await.unwrap();
        // Every change brings it back, this one to be put aside again.
        assert_eq!(phone.answered(false).await, Ok(3));
        phone.dial("Bob".to_owned()).await.unwrap();
        assert_eq!(phone.answered(true).await, Ok(3));
        assert_eq!(soon(second).await, Ok("2 to Bob".to_owned()));
        assert_eq!(phone.hang_up().await, Ok(vec![1, 2, 3]));
        assert_eq!(system.counts().dead_stash_full, 1);
    });
}

// [G-STATE-2]
#[test]
fn what_a_handler_enters_that_was_given_its_state_gives_way_to_that() {
    everywhere(async |system| {
        let phone = phone(system).await;
        phone.dial("Ann".to_owned()).await.unwrap();
        phone.fumble().await.unwrap();
        assert!(phone.state().await.unwrap().contains("Dialing"));
        let mut said = phone.send(1).within(LONG).into_future();
        assert!(poll_once(&mut said).is_pending());
        assert_eq!(phone.answered(true).await, Ok(1));
        assert_eq!(soon(said).await, Ok("1 to Ann".to_owned()), "the change is seen as one");
    });
}

// [G-STATE-1] [G-STASH-4]
#[test]
fn a_failure_in_a_state_is_a_failure() {
    everywhere(async |system| {
        let phone = phone(system).await;
        let mut events = system.events();
        phone.dial("Ann".to_owned()).await.unwrap();
        phone.answered(true).await.unwrap();
        phone.drop_it().await.unwrap();
        loop {
            if let Event::Restarting { reason, .. } = soon(events.next()).await.unwrap() {
                assert_eq!(reason, ExitReason::Panicked("as told".to_owned()));
                break;
            }
        }
        assert_eq!(phone.calls().await, Ok(0), "the next incarnation begins where it starts");
    });
}

// [G-STATE-1] [G-TELL-1]
#[test]
fn an_error_of_a_told_handler_leaves_the_state() {
    everywhere(async |system| {
        let phone = phone(system).await;
        let mut events = system.events();
        phone.dial("Ann".to_owned()).await.unwrap();
        phone.answered(true).await.unwrap();
        phone.send_later(13).await.unwrap();
        loop {
            if let Event::TellFailed { handler, error, .. } = soon(events.next()).await.unwrap() {
                assert_eq!((handler, &*error), ("send_later", "unlucky"));
                break;
            }
        }
        assert_eq!(phone.hang_up().await, Ok(vec![13]));
    });
}

// [G-STATE-1] [G-STATE-2]
#[test]
fn a_timer_may_change_the_state() {
    everywhere(async |system| {
        let phone = phone(system).await;
        phone.time_out_after(Duration::from_millis(5)).await.unwrap();
        assert_eq!(phone.send(1).within(LONG).await, Ok("1 to nobody".to_owned()));
    });
}
