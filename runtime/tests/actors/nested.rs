//! Asks that are answered inside the asker's turn: chains and rings of any depth, and what goes wrong
//! at their end. See the decision on nested turns in the book.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{LONG, everywhere, soon};
use greenroom::{Actor, AskError, Context, Ref, System, handlers};
use std::time::Duration;

/// Asks others on, as deep as it is told.
#[derive(Actor)]
struct Link {
    next: Option<Ref<Self>>,
    asked: u64,
}

/// What the last one of a chain does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Answers,
    Waits,
    Panics,
    Stops,
}

#[handlers]
impl Link {
    #[ask]
    fn set(&mut self, next: Ref<Self>) {
        self.next = Some(next);
    }
    /// How many there are behind this one.
    #[ask]
    async fn depth(&mut self, last: Last, cx: &mut Context<Self>) -> Result<u64, AskError> {
        self.asked += 1;
        let before = cx.remaining();
        let Some(next) = &self.next else {
            match last {
                Last::Answers => {}
                Last::Waits => tokio::task::yield_now().await,
                Last::Panics => panic!("as asked"),
                Last::Stops => cx.stop(),
            }
            return Ok(0);
        };
        // Longer than the caller waits, so it is cut down to that.
        let answer = next.depth(last).within(LONG * 10).await;
        let after = cx.remaining();
        assert!(after <= before, "its own deadline is back: {after:?} of {before:?}");
        match answer {
            Ok(depth) => Ok(depth + 1),
            Err(AskError::Failed(error)) => Err(error),
            Err(AskError::Closed) => Err(AskError::Closed),
            Err(AskError::Cycle(cycle)) => Err(AskError::Cycle(cycle)),
            Err(AskError::Expired) => Err(AskError::Expired),
            Err(_) => Err(AskError::NoReply),
        }
    }
    /// How long the last one of the chain thinks that its asker waits.
    #[ask]
    async fn remaining(&mut self, cx: &mut Context<Self>) -> Duration {
        match &self.next {
            Some(next) => next.remaining().within(LONG * 10).await.unwrap(),
            None => cx.remaining(),
        }
    }
    #[ask]
    fn asked(&self) -> u64 {
        self.asked
    }
}

/// A chain in which each asks the one before it in the list.
async fn chain(system: &System, length: usize) -> Vec<Ref<Link>> {
    let mut links: Vec<Ref<Link>> = Vec::new();
    for _ in 0..length {
        let next = links.last().cloned();
        links.push(system.spawn::<Link>(Link { next, asked: 0 }).await.unwrap());
    }
    links
}

// [G-ASK-1]
#[test]
fn asks_go_a_hundred_actors_deep() {
    everywhere(async |system| {
        for length in [2, 8, 9, 10, 100] {
            let links = chain(system, length).await;
            let top = links.last().unwrap();
            for last in [Last::Answers, Last::Waits] {
                let depth = top.depth(last).within(LONG).await;
                assert_eq!(depth, Ok(length as u64 - 1), "{last:?}");
            }
            assert_eq!(links[0].asked().await, Ok(2));
        }
    });
}

// [G-ASK-3]
#[test]
fn the_deadline_travels_down_a_chain_that_is_nested_and_one_that_is_not() {
    everywhere(async |system| {
        for length in [2, 9, 30] {
            let links = chain(system, length).await;
            let own = Duration::from_secs(30);
            let left = links.last().unwrap().remaining().within(own).await.unwrap();
            assert!(!left.is_zero() && left <= own, "{left:?}");
        }
    });
}

// [G-PANIC-1] [G-PANIC-2]
#[test]
fn askers_live_though_the_last_of_a_chain_panics() {
    everywhere(async |system| {
        for length in [2, 9, 30] {
            let links = chain(system, length).await;
            let top = links.last().unwrap();
            let no_reply = Err(AskError::Failed(AskError::NoReply));
            assert_eq!(top.depth(Last::Panics).within(LONG).await, no_reply);
            soon(links[0].ended()).await;
            let closed = Err(AskError::Failed(AskError::Closed));
            assert_eq!(top.depth(Last::Answers).within(LONG).await, closed);
            assert_eq!(top.asked().await, Ok(2));
        }
    });
}

// [G-ASK-1] [G-STOP-1]
#[test]
fn the_last_of_a_chain_answers_though_it_stops_itself() {
    everywhere(async |system| {
        for length in [2, 9, 30] {
            let links = chain(system, length).await;
            let top = links.last().unwrap();
            let depth = top.depth(Last::Stops).within(LONG).await;
            assert_eq!(depth, Ok(length as u64 - 1));
            soon(links[0].ended()).await;
            assert_eq!(top.asked().await, Ok(1));
        }
    });
}

// [G-ASK-1] [G-CYCLE-1] [G-CYCLE-3] [G-EXCLUSIVE-2]
#[test]
fn a_ring_of_asks_ends_and_leaves_the_workers_free() {
    everywhere(async |system| {
        for length in [1, 2, 12] {
            let links = chain(system, length).await;
            links[0].set(links[length - 1].clone()).await.unwrap();
            let before = system.counts();
            let outcome = links[0].depth(Last::Answers).within(LONG).await;
            match outcome {
                Err(AskError::Failed(AskError::Cycle(cycle))) => {
                    assert_eq!(cycle.members().len(), length, "{cycle}");
                }
                other => panic!("{other:?}"),
            }
            for link in &links {
                assert_eq!(link.asked().within(LONG).await, Ok(1), "it is free again");
            }
            let counts = system.counts();
            assert_eq!(counts.ask_cycles, before.ask_cycles + 1);
            assert_eq!(counts.dead_cancelled, before.dead_cancelled + 1, "it is a dead letter");
        }
    });
}
