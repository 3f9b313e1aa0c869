//! Every macro, in a crate of an earlier edition that knows the runtime as `actors` and by no other name.

use actors::{Actor, Context, Handle, Message, System, handlers};
use std::time::Duration;

/// A message with a handler by hand.
#[derive(Message)]
#[message(reply = usize)]
struct Count;

/// An actor with handlers by macro and by hand.
#[derive(Actor)]
#[actor(mailbox = bounded(8), restart = transient(5 in "10s"))]
struct Shelf {
    books: Vec<String>,
}

#[handlers]
impl Shelf {
    #[start]
    fn start(first: String) -> Self {
        Self { books: vec![first] }
    }

    #[tell]
    async fn add(&mut self, title: String, cx: &mut Context<Self>) {
        cx.after(Duration::ZERO, Self::sort);
        self.books.push(title);
    }

    #[local]
    fn sort(&mut self) {
        self.books.sort();
    }

    #[ask]
    fn count(&mut self, reply: actors::Reply<usize>) {
        reply.send(self.books.len());
    }

    /// A name like any other in this edition, and a keyword in the next one.
    #[ask]
    fn gen(&self, gen: usize) -> Option<String> {
        self.books.get(gen).cloned()
    }

    #[ask]
    fn first(&self) -> Option<String> {
        self.books.first().cloned()
    }
}

impl Handle<Count> for Shelf {
    fn handle(&mut self, _count: Count, _cx: &mut Context<Self>) -> usize {
        self.books.len()
    }
}

/// What a program says that is started under the other name.
///
/// # Errors
/// None: they would be those of an actor that works.
#[actors::main]
pub async fn main(system: System) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let shelf = system.spawn::<Shelf>("Emma".to_owned()).await?;
    shelf.add("Middlemarch".to_owned()).await?;
    let count = shelf.ask(Count).await?;
    Ok(format!("{count}, the first {:?}", shelf.first().await?))
}

#[cfg(test)]
#[actors::test]
async fn the_runtime_may_have_another_name(system: System) {
    let shelf = system.spawn::<Shelf>("Persuasion".to_owned()).await.unwrap();
    assert_eq!(shelf.first().await.unwrap(), Some("Persuasion".to_owned()));
    assert_eq!(shelf.count().await.unwrap(), 1);
    assert_eq!(shelf.gen(1).await.unwrap(), None);
}

#[cfg(test)]
#[test]
fn so_it_may_for_a_program() {
    assert_eq!(main().unwrap(), "2, the first Some(\"Emma\")");
}
