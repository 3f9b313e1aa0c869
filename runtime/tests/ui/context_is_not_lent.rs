#![allow(unused)]

use greenroom::{Actor, Context, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn owned(&mut self, cx: Context<Self>) {}

    #[tell]
    fn shared(&mut self, cx: &Context<Self>) {}

    #[tell]
    fn twice(&mut self, cx: &mut Context<Self>, again: &mut Context<Self>) {}
}

fn main() {}
