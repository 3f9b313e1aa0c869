#![allow(unused)]

use greenroom::{Actor, Context, Interleaved, handlers};

#[derive(Actor)]
#[actor(interleave = 16)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[ask]
    #[interleave]
    async fn holds(&mut self) -> u64 {
        self.best
    }

    #[ask]
    #[interleave]
    async fn has_context(cx: &mut Context<Self>) -> u64 {
        0
    }

    #[ask]
    #[interleave]
    fn never_waits(cx: &mut Interleaved<Self>) -> u64 {
        0
    }

    #[tell]
    #[interleave(16)]
    async fn how_many(cx: &mut Interleaved<Self>) {}

    #[tell]
    #[interleave]
    #[interleave]
    async fn twice(cx: &mut Interleaved<Self>) {}

    #[local]
    #[interleave]
    async fn tick(cx: &mut Interleaved<Self>) {}

    #[ask]
    async fn not_said(&mut self, cx: &mut Interleaved<Self>) -> u64 {
        self.best
    }
}

#[derive(Actor)]
#[actor(interleave = 0)]
struct Closed;

fn main() {}
