#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn rename(&mut self, name: &str) {}

    #[tell]
    fn fill(&mut self, name: std::borrow::Cow<'_, str>) {}

    #[tell]
    fn call(&mut self, visit: Box<dyn Fn(&str) + Send>, names: Vec<&[u8]>) {}

    #[ask]
    fn best(&self) -> &u64 {
        &self.best
    }
}

fn main() {}
