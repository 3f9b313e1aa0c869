//! What is wrong in one place does not have others fail.

#![allow(unused)]

use std::collections::VecDeque;

use greenroom::{Actor, Context, Ref, System, handlers};

#[derive(Actor)]
#[actor(mailbox = 64, stash = -1, interleave = 0, supervise = all, priority = high)]
struct Book {
    lines: VecDeque<String>,
}

#[handlers(api = BookApi)]
impl Book {
    #[start]
    fn start(name: &str) -> Self {
        Self { lines: VecDeque::new() }
    }

    #[tell]
    fn write(&mut self, line: &str) {
        self.lines.push_back(line.to_owned());
    }

    #[ask]
    #[stash(while = self.lines.is_empty())]
    fn first(&self) -> Option<String> {
        self.lines.front().cloned()
    }

    #[ask]
    fn find<T>(&self, what: T) -> u64 {
        0
    }

    #[ask]
    fn count(&self) -> usize {
        self.lines.len()
    }
}

async fn use_it(system: System) {
    let book = system.spawn::<Book>("a name").await.unwrap();
    book.write("a line").await.unwrap();
    let first: Option<String> = book.first().await.unwrap();
    let count: usize = book.count().await.unwrap();
    let _ = book.find(5).await;
    let api: Ref<BookApi> = book.api();
}

fn main() {}
