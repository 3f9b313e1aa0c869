//! Such a method is wrong once.

#![allow(unused)]

use std::time::Duration;

use greenroom::{Actor, Context, handlers};

#[derive(Actor)]
struct Book;

#[handlers]
impl Book {
    #[local]
    async fn poll<T>(&mut self, what: T, cx: &mut Context<Self>)
    where
        T: Send + 'static,
    {
        cx.pipe(async { 4_u8 }, Self::poll::<u8>);
    }

    #[local]
    async unsafe fn look(&mut self, cx: &mut Context<Self>) {
        let _ = Self::look;
    }

    #[tell]
    async fn tick(&mut self, text: &str, cx: &mut Context<Self>) {
        let _ = Self::tick;
    }
}

fn main() {}
