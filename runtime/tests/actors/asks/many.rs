//! Many asks, of actors that come and go.

use crate::asks::oracle::{NO_TIME, Oracle, keep, oracle};
use crate::support::{Dice, LONG, block_on, everywhere, poll_once, soon};
use greenroom::{Actor, AskError, Ref, handlers};
use std::thread;
use std::time::Duration;

/// Asks many times, while oracles come and go.
async fn ask_many(oracles: Vec<Ref<Oracle>>, count: u32, seed: u64) -> [u32; 4] {
    let mut dice = Dice::new(seed);
    let [mut answered, mut expired, mut unanswered, mut closed] = [0; 4];
    for number in 0..count {
        let oracle = &oracles[usize::try_from(dice.below(oracles.len() as u64)).expect("small")];
        let way = dice.below(20);
        let outcome = match way {
            0 => oracle.double(number).within(NO_TIME).await,
            1..=5 => oracle.double_later(number).within(LONG).await,
            6 => keep(oracle).within(NO_TIME).await.map(|_| number * 2),
            7 => {
                let mut question = oracle.double(number).into_future();
                let _ = poll_once(&mut question);
                oracle.double(number).within(LONG).await
            }
            _ => oracle.double(number).within(LONG).await,
        };
        match outcome {
            Ok(answer) => {
                assert_eq!(answer, number * 2, "the answer to this question and no other");
                answered += 1;
            }
            Err(AskError::Expired) => {
                assert!(way == 0 || way == 6, "it had time");
                expired += 1;
            }
            Err(AskError::NoReply) => unanswered += 1,
            Err(AskError::Closed) => closed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    [answered, expired, unanswered, closed]
}

#[derive(Actor)]
struct Asker;

#[handlers]
impl Asker {
    #[ask]
    async fn ask_many(&mut self, oracles: Vec<Ref<Oracle>>, count: u32, seed: u64) -> [u32; 4] {
        ask_many(oracles, count, seed).await
    }
}

// [G-ASK-1] [G-ASK-2]
#[test]
fn a_hundred_thousand_asks_have_one_outcome_each() {
    const EACH: u32 = if cfg!(sanitized) { 1_600 } else { 8_400 };
    everywhere(async |system| {
        let mut totals = [0; 4];
        let mut oracles = Vec::new();
        for _ in 0..20 {
            oracles.push(oracle(system).await);
        }
        let outside = oracles.clone();
        let thread = thread::spawn(move || block_on(ask_many(outside, EACH / 2, 1)));
        let first = system.spawn::<Asker>(Asker).await.unwrap();
        let second = system.spawn::<Asker>(Asker).await.unwrap();
        let asks = [(first, 2), (second, 3)].map(|(asker, seed)| {
            let oracles = oracles.clone();
            tokio::spawn(async move { asker.ask_many(oracles, EACH / 4, seed).within(LONG).await })
        });
        let mine = ask_many(oracles.clone(), EACH, 4);
        let stops = async {
            for (number, oracle) in oracles.iter().enumerate().skip(5) {
                tokio::time::sleep(Duration::from_millis(2)).await;
                if number % 2 == 0 {
                    oracle.stop()
                } else {
                    oracle.kill()
                };
            }
        };
        let (mine, ()) = tokio::join!(mine, stops);
        let [first, second] = asks;
        let others = [soon(first).await.unwrap().unwrap(), soon(second).await.unwrap().unwrap()];
        for outcomes in [mine, thread.join().unwrap()].into_iter().chain(others) {
            totals.iter_mut().zip(outcomes).for_each(|(total, count)| *total += count);
        }
        assert_eq!(totals.iter().sum::<u32>(), EACH * 2);
        assert!(totals[0] > 0 && totals[1] > 0, "{totals:?}");
    });
}
