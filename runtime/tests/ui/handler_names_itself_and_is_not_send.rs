#![allow(unused)]

use greenroom::{Actor, Context, handlers};
use std::time::Duration;

#[derive(Actor)]
struct Poller {
    polls: u64,
}

#[handlers]
impl Poller {
    #[local]
    async fn poll(&mut self, cx: &mut Context<Self>) {
        let polls = std::rc::Rc::new(self.polls);
        std::future::ready(()).await;
        self.polls = *polls + 1;
        cx.after(Duration::from_secs(1), Self::poll);
    }

    #[ask]
    async fn polls(&mut self, cx: &mut Context<Self>) -> u64 {
        cx.after(Duration::from_secs(1), Self::ask_again);
        self.polls.to_string()
    }

    #[local]
    async fn ask_again(&mut self, cx: &mut Context<Self>) {
        self.polls(cx).await;
    }
}

fn main() {}
