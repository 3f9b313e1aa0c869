//! An actor, a message to it, and a question.
//!
//! ```text
//! cargo run --example 01_hello
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::{Actor, System, handlers};

/// The state: only the actor's own handlers ever touch it, one at a time.
#[derive(Actor)]
struct Greeter {
    greeting: String,
    greeted: u32,
}

#[handlers]
impl Greeter {
    /// Makes the actor from what it was spawned with.
    #[start]
    fn start(greeting: String) -> Self {
        Self { greeting, greeted: 0 }
    }

    /// Greets somebody. A tell has no answer: the sender goes on at once.
    #[tell]
    fn greet(&mut self, name: String) {
        self.greeted += 1;
        println!("{}, {name}!", self.greeting);
    }

    /// Returns how many were greeted. An ask has an answer: the sender waits for it.
    #[ask]
    fn greeted(&self) -> u32 {
        self.greeted
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    // A reference has one method per handler. It is cheap to clone and can be sent anywhere.
    let greeter = system.spawn::<Greeter>("Hello".to_owned()).await?;
    greeter.greet("Ada".to_owned()).await?;
    greeter.greet("Grace".to_owned()).await?;

    // Messages of one sender arrive in order, so the answer counts both.
    let greeted = greeter.greeted().await?;
    println!("{greeted} were greeted");
    assert_eq!(greeted, 2);
    Ok(())
}
