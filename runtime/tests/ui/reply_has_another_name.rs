//! Under another name a `Reply` is an argument, which callers are asked for.

#![allow(unused)]

use greenroom::{Actor, Ref, Reply, handlers};

type Answer = Reply<u64>;

#[derive(Actor)]
struct Book;

#[handlers]
impl Book {
    #[ask]
    fn best(&self, answer: Answer) {
        answer.send(1);
    }
}

async fn ask(book: Ref<Book>) {
    book.best().await;
}

fn main() {}
