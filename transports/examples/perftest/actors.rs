//! The same between two actors of two nodes, by a queue pair.

use super::{ASKS, Failure, Figures, LONG, SHORT};
use greenroom::net::{Export, Node};
use greenroom::{Actor, AskError, Idle, Ref, System, handlers};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::station::Carrier;
use greenroom_transports::udp::{Settings, Udp};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// How both nodes are set up.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// Whether packets are sealed.
    pub(super) sealed: bool,
    /// What their workers do without work.
    pub(super) idle: Idle,
}

/// No measurement takes so long.
const LIMIT: Duration = Duration::from_secs(120);

/// Answers what it is asked, and takes what it is told.
#[derive(Actor)]
struct Echo;

#[handlers(wire = "perftest.echo/1")]
impl Echo {
    #[ask]
    fn echo(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
    #[tell]
    fn take(&mut self, _bytes: Vec<u8>) {}
}

/// Asks and tells as actors do.
#[derive(Actor)]
struct Client {
    echo: Ref<Echo>,
}

#[handlers]
impl Client {
    #[start]
    fn start(echo: Ref<Echo>) -> Self {
        Self { echo }
    }
    /// The median of questions, one after the other.
    #[ask]
    async fn asks(&mut self, bytes: usize, count: u32) -> Result<Duration, String> {
        let mut times = Vec::new();
        for _ in 0..count {
            let began = Instant::now();
            let answer = self.echo.echo(vec![7; bytes]).within(LIMIT).await;
            times.push(began.elapsed());
            assert_eq!(answer.map_err(|error| error.to_string())?, vec![7; bytes]);
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }
    /// The time of each that is told, until the last of them is answered.
    #[ask]
    async fn tells(&mut self, bytes: usize, count: u32) -> Result<Duration, String> {
        let began = Instant::now();
        for _ in 1..count {
            self.echo.take(vec![7; bytes]).await.map_err(|error| error.to_string())?;
        }
        let last = self.echo.echo(vec![7; bytes]).within(LIMIT).await;
        last.map_err(|error| error.to_string())?;
        Ok(began.elapsed() / count)
    }
}

fn identity(who: u8) -> Identity {
    Identity::new(Key::new([who; 32]))
}

fn node(how: How, own: u8, other: u8) -> Result<(System, Node, Udp), Failure> {
    let system = System::builder().workers(1).idle(how.idle).build()?;
    let other = identity(other).public();
    let rdma = if how.sealed { Rdma::auto() } else { Rdma::auto().trust(other) };
    let settings = Settings::new(identity(own)).peer(other, None).rdma(rdma);
    let udp = Udp::bind(settings, (Ipv4Addr::LOCALHOST, 0).into())?;
    let node = Node::start(&system, udp.clone())?;
    Ok((system, node, udp))
}

fn answer(outcome: Result<Duration, AskError<String>>) -> Result<Duration, Failure> {
    outcome.map_err(|error| error.to_string().into())
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// One round, between nodes that are new.
pub(super) fn measure(how: How) -> Result<Figures, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::time::timeout(LIMIT, measured(how)).await? })
}

async fn measured(how: How) -> Result<Figures, Failure> {
    let (here, client, at_client) = node(how, 1, 2)?;
    let (there, server, at_server) = node(how, 2, 1)?;
    let echo = there.spawn::<Echo>(Echo).await?;
    server.export("echo", Export::of(&echo))?;
    let peer = client.connect(&at_server.node_address()).await?;
    let echo: Ref<Echo> = peer.find("echo").await?;
    let wanted = if how.sealed { Carrier::Rdma } else { Carrier::RdmaPlain };
    let is_by = || {
        [(&at_client, 2), (&at_server, 1)]
            .into_iter()
            .all(|(udp, peer)| udp.carrier(&identity(peer).public()) == Some(wanted))
    };
    while !is_by() {
        if let Some(why) = at_client.rdma_failure().or(at_server.rdma_failure()) {
            return Err(why.into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let actor = here.spawn::<Client>(echo).await?;
    answer(actor.asks(64, ASKS / 10).within(LIMIT).await)?;
    let there_and_back = answer(actor.asks(64, ASKS).within(LIMIT).await)?;
    let long = answer(actor.tells(64 << 10, LONG).within(LIMIT).await)?;
    let short = answer(actor.tells(64, SHORT).within(LIMIT).await)?;
    // All of it went by the queue pair.
    assert!(is_by(), "{:?}", at_client.carriers());
    client.close().await;
    server.close().await;
    here.shutdown(LIMIT).await?;
    there.shutdown(LIMIT).await?;
    Ok(Figures {
        one_way_us: microseconds(there_and_back) / 2.0,
        long_us: microseconds(long),
        short_us: microseconds(short),
    })
}
