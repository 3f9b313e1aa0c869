//! A connection that is closed, connecting or open, each a type of its own.
//!
//! ```text
//! cargo run --example 17_states
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use greenroom::{Actor, AskError, Context, State, States, System, handlers};

struct Closed;
struct Connecting {
    host: String,
}
struct Open {
    host: String,
    sent: u32,
}

#[derive(States)]
enum Link {
    Closed(Closed),
    Connecting(Connecting),
    Open(Open),
}

/// What is sent before the connection is open waits for it.
#[derive(Actor)]
#[actor(stash = 16)]
struct Connection {
    opened: u32,
    link: State<Link>,
}

#[handlers(state = link)]
impl Connection {
    #[start]
    fn start() -> Self {
        Self { opened: 0, link: State::new(Closed) }
    }
    /// Takes the state, and returns the next one.
    #[tell]
    fn connect(
        &mut self,
        #[state] _closed: Closed,
        host: String,
        cx: &mut Context<Self>,
    ) -> Connecting {
        println!("connecting to {host}");
        cx.after(Duration::from_millis(20), Self::connected);
        Connecting { host }
    }
    /// Is lent the state; in others the message is put aside.
    #[ask]
    #[stash]
    fn send(&mut self, #[state] open: &mut Open, line: String) -> u32 {
        open.sent += 1;
        println!("{}: {line}", open.host);
        open.sent
    }
    /// Takes the state, and returns the next one with the answer. In others it is refused.
    #[ask]
    fn close(&mut self, #[state] open: Open) -> (Closed, u32) {
        println!("{} is closed", open.host);
        (Closed, open.sent)
    }
    /// Asked in any state.
    #[ask]
    fn opened(&self) -> u32 {
        self.opened
    }
    #[local]
    fn connected(&mut self, cx: &mut Context<Self>) {
        if let Some(Link::Connecting(Connecting { host })) = self.link.get() {
            let open = Open { host: host.clone(), sent: 0 };
            self.opened += 1;
            self.link.enter(open, cx);
        }
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let connection = system.spawn::<Connection>(()).await?;
    assert_eq!(connection.close().await, Err(AskError::Refused), "there is nothing to close");

    connection.connect("example.org".to_owned()).await?;
    // Both wait until the connection is open.
    assert_eq!(connection.send("hello".to_owned()).await?, 1);
    assert_eq!(connection.send("goodbye".to_owned()).await?, 2);
    assert_eq!(connection.close().await?, 2);
    assert_eq!(connection.opened().await?, 1);
    Ok(())
}
