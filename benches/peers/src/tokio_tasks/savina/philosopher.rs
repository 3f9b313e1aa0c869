//! Philosophers ask an arbiter for their forks, eat, and put them back.

use crate::savina::philosopher::{self, PHILOSOPHERS, Table};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

enum News {
    Hungry(usize),
    Full(usize),
}

enum Answer {
    Eat,
    Refused,
}

async fn philosopher(
    mut mailbox: UnboundedReceiver<Answer>,
    seat: usize,
    mut meals: u64,
    arbiter: UnboundedSender<News>,
) {
    while meals > 0 {
        arbiter.send(News::Hungry(seat)).expect("the arbiter lives");
        match mailbox.recv().await {
            Some(Answer::Eat) => {
                meals -= 1;
                arbiter.send(News::Full(seat)).expect("the arbiter lives");
            }
            Some(Answer::Refused) => {}
            None => return,
        }
    }
}

async fn arbiter(
    mut mailbox: UnboundedReceiver<News>,
    mut table: Table,
    philosophers: Vec<UnboundedSender<Answer>>,
) {
    while let Some(news) = mailbox.recv().await {
        match news {
            News::Hungry(seat) => {
                let answer = if table.take(seat) { Answer::Eat } else { Answer::Refused };
                philosophers[seat].send(answer).expect("the philosopher lives");
            }
            News::Full(seat) => {
                if table.put_back(seat) {
                    return;
                }
            }
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (sender, mailbox) = mpsc::unbounded_channel();
    let (philosophers, mailboxes): (Vec<_>, Vec<_>) =
        (0..PHILOSOPHERS).map(|_| mpsc::unbounded_channel()).unzip();
    let arbiter = tokio::spawn(arbiter(mailbox, Table::new(n), philosophers));
    let clock = Instant::now();
    for (seat, mailbox) in mailboxes.into_iter().enumerate() {
        tokio::spawn(philosopher(mailbox, seat, philosopher::meals(seat, n), sender.clone()));
    }
    arbiter.await.expect("everybody eats as often as they want");
    clock.elapsed()
}
