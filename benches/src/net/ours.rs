//! Greenroom's nodes over encrypted UDP.

use greenroom::net::{Export, Node, Zerocopy};
use greenroom::{Actor, Idle, Ref, System, handlers};
use greenroom_peers::wire::{Failure, Times, Work, nanos};
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::udp::{Settings, Udp};
use std::future::pending;
use std::net::Ipv4Addr;
use std::time::Instant;

/// Who takes a flow beside questions: what one actor is sent waits in line, whoever sends it.
pub(crate) const FLOW: &str = "flow";

/// Answers what it is asked, and takes what it is told.
#[derive(Actor)]
pub(crate) struct Echo;

#[handlers(wire = "bench.echo/1")]
impl Echo {
    #[ask]
    fn echo(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
    #[ask]
    fn give(&self, len: usize) -> Vec<u8> {
        vec![7; len]
    }
    #[tell]
    fn take(&mut self, _bytes: Vec<u8>) {}
}

/// Bytes of a plain struct: as many as others tell.
const PLAIN_BYTES: usize = 64;

/// Takes plain structs, for which neither end allocates.
#[derive(Actor)]
struct Plain;

#[handlers(wire = "bench.plain/1", codec = Zerocopy)]
impl Plain {
    #[tell]
    fn take(&mut self, _bytes: [u8; PLAIN_BYTES]) {}
    #[ask]
    fn are_taken(&self) {}
}

fn identity(host: u8) -> Identity {
    Identity::new(Key::new([host; 32]))
}

/// A node that takes the other one.
pub(crate) fn start(idle: Idle, host: u8, other: u8) -> Result<(System, Udp, Node), Failure> {
    let system = System::builder().workers(1).idle(idle).build()?;
    let settings = Settings::new(identity(host)).peer(identity(other).public(), None);
    let udp = Udp::bind(settings, (Ipv4Addr::LOCALHOST, 0).into())?;
    let node = Node::start(&system, udp.clone())?;
    Ok((system, udp, node))
}

/// Serves for ever.
///
/// # Errors
/// What the kernel says.
pub(super) async fn serve(idle: Idle, ready: impl FnOnce(String)) -> Result<(), Failure> {
    let (system, udp, node) = start(idle, 1, 2)?;
    let echo = system.spawn::<Echo>(Echo).await?;
    node.export("echo", Export::of(&echo))?;
    let flow = system.spawn::<Echo>(Echo).await?;
    node.export(FLOW, Export::of(&flow))?;
    let plain = system.spawn::<Plain>(Plain).await?;
    node.export("plain", Export::of(&plain))?;
    ready(udp.node_address().to_string());
    pending().await
}

/// The client's actor: what it does, it does as actors do.
#[derive(Actor)]
struct Client {
    echo: Ref<Echo>,
    plain: Ref<Plain>,
}

#[handlers]
impl Client {
    #[start]
    fn start((echo, plain): (Ref<Echo>, Ref<Plain>)) -> Self {
        Self { echo, plain }
    }
    /// Tells so many plain structs; says how long it took, in nanoseconds.
    #[ask]
    async fn tell_plain(&mut self, count: usize) -> Result<Times, String> {
        assert_eq!(PLAIN_BYTES, Work::Tell.bytes(), "as many as others tell");
        let start = Instant::now();
        for _ in 0..count {
            let told = self.plain.take([7; PLAIN_BYTES]).await;
            told.map_err(|error| error.to_string())?;
        }
        let taken = self.plain.are_taken().within(super::LIMIT).await;
        taken.map_err(|error| error.to_string())?;
        Ok(Times(vec![nanos(start.elapsed())]))
    }
    /// Does so much of a kind of work; says how long it took, in nanoseconds.
    #[ask]
    async fn work(&mut self, work: Work, count: usize) -> Result<Times, String> {
        let payload = vec![7; work.bytes()];
        let mut times = Vec::with_capacity(count);
        let start = Instant::now();
        if work == Work::Ask {
            for _ in 0..count {
                let asked = Instant::now();
                let answer = self.echo.echo(payload.clone()).await;
                times.push(nanos(asked.elapsed()));
                let answer = answer.map_err(|error| error.to_string())?;
                assert_eq!(answer.len(), payload.len(), "the answer is what was sent");
            }
            return Ok(Times(times));
        }
        for _ in 1..count {
            self.echo.take(payload.clone()).await.map_err(|error| error.to_string())?;
        }
        let last = self.echo.echo(payload).within(super::LIMIT).await;
        last.map_err(|error| error.to_string())?;
        Ok(Times(vec![nanos(start.elapsed())]))
    }
}

/// Does so much of the work with the server at that address.
///
/// # Errors
/// What the node says.
pub(super) async fn client(
    kind: &str,
    at: &str,
    work: Work,
    count: usize,
) -> Result<Times, Failure> {
    let (system, _udp, node) = start(super::idle(kind), 2, 1)?;
    let peer = node.connect(&at.parse()?).await?;
    let (echo, plain) = (peer.find("echo").await?, peer.find("plain").await?);
    let client = system.spawn::<Client>((echo, plain)).await?;
    let done = if kind == super::PLAIN {
        client.tell_plain(count).within(super::LIMIT).await
    } else {
        client.work(work, count).within(super::LIMIT).await
    };
    Ok(done.map_err(|error| error.to_string())?)
}
