//! Actors beside an application's own tokio runtime, and tokio inside handlers.
//!
//! ```text
//! cargo run --example 08_inside_tokio
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use greenroom::{Actor, Context, Scheduler, System, handlers};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers each client with the number of those before it.
#[derive(Actor)]
struct Counter {
    listener: TcpListener,
    address: SocketAddr,
    served: u32,
}

#[handlers]
impl Counter {
    /// Sockets, timers and all of tokio work in handlers: every worker is a tokio runtime.
    #[start]
    async fn start(cx: &mut Context<Self>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        drop(cx.me().serve().try_send());
        Ok(Self { listener, address, served: 0 })
    }

    /// Returns where it listens.
    #[ask]
    fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves one client; an error is reported as an event, and does not end the actor.
    #[tell]
    async fn serve(&mut self, cx: &mut Context<Self>) -> io::Result<()> {
        // Wait a little, then let other messages have their turn.
        let waited = tokio::time::timeout(Duration::from_millis(10), self.listener.accept()).await;
        drop(cx.me().serve().try_send());
        if let Ok(accepted) = waited {
            let (mut stream, _) = accepted?;
            stream.write_all(format!("{}", self.served).as_bytes()).await?;
            self.served += 1;
        }
        Ok(())
    }
}

/// The application's own runtime: an actor's future can be awaited in it as in any other.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::builder().workers(2).scheduler(Scheduler::stealing()).build()?;
    let counter = system.spawn::<Counter>(()).await?;
    let address = counter.address().await?;

    for expected in 0..3 {
        let mut answer = String::new();
        TcpStream::connect(address).await?.read_to_string(&mut answer).await?;
        println!("the counter says {answer}");
        assert_eq!(answer, expected.to_string());
    }

    system.shutdown(Duration::from_secs(5)).await?;
    println!("the actors have ended; the application goes on");
    Ok(())
}
