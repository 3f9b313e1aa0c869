//! What two nodes get done beside a flood of first messages in the names of others.

use super::{Runner, interleave};
use crate::net::{LIMIT, ours, runtime};
use crate::rows::Row;
use crate::table::{Table, goal, time};
use greenroom::net::{Export, Node};
use greenroom::{Actor, Idle, Ref, System, handlers};
use greenroom_peers::wire::Failure;
use greenroom_transports::link::Time;
use greenroom_transports::secure::endpoint::{Config, Endpoint};
use greenroom_transports::secure::entropy;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::secure::wire::Suite;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// First messages of the flood in a second.
const RATE: u32 = 20_000;
/// Messages of one measurement: so many that the flood has half a second.
pub(super) const MESSAGES: u32 = 4_000_000;
/// Bytes of each.
const BYTES: usize = 64;
/// Of the time that a message takes without a flood: four fifths are got done.
const GOAL: f64 = 1.25;

/// Tells as actors do.
#[derive(Actor)]
struct Teller {
    to: Ref<ours::Echo>,
}

#[handlers]
impl Teller {
    #[start]
    fn start(to: Ref<ours::Echo>) -> Self {
        Self { to }
    }
    /// Tells so many messages, until the last one is handled; says how long it took.
    #[ask]
    async fn all(&mut self, count: u32) -> Result<Duration, String> {
        let start = Instant::now();
        for _ in 0..count {
            self.to.take(vec![7; BYTES]).await.map_err(|error| error.to_string())?;
        }
        let last = self.to.echo(Vec::new()).within(LIMIT).await;
        last.map_err(|error| error.to_string())?;
        Ok(start.elapsed())
    }
}

/// Two nodes, of which one tells the other.
struct Two {
    runtime: tokio::runtime::Runtime,
    teller: Ref<Teller>,
    at: SocketAddr,
    key: PublicKey,
    _nodes: [(System, Node); 2],
}

impl Two {
    fn start() -> Result<Self, Failure> {
        let runtime = runtime()?;
        let (there, udp, far) = ours::start(Idle::Park, 1, 2)?;
        let (here, _, near) = ours::start(Idle::Park, 2, 1)?;
        let teller = runtime.block_on(async {
            let echo = there.spawn::<ours::Echo>(ours::Echo).await?;
            far.export("echo", Export::of(&echo))?;
            let to = near.connect(&udp.node_address()).await?.find("echo").await?;
            Ok::<_, Failure>(here.spawn::<Teller>(to).await?)
        })?;
        let (at, key) = (udp.address(), udp.public());
        Ok(Self { runtime, teller, at, key, _nodes: [(there, far), (here, near)] })
    }

    fn tell(&self, count: u32) -> Duration {
        let told = self.runtime.block_on(async { self.teller.all(count).within(LIMIT).await });
        told.expect("the connection lasts")
    }

    /// First messages to a node, of others that it does not know: of four, one whose first code does not fit, one whose second
    /// one does not, and two without a cookie.
    fn first_messages(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let since = Duration::from_secs(1_700_000_000);
        let message = |host: u8| {
            let config = Config { suite: Suite::Classic, ..Config::default() };
            let identity = Identity::new(Key::new([host; 32]));
            let entropy = Box::new(entropy::System);
            let mut stranger = Endpoint::new(config, identity, None, since, entropy)?;
            stranger.allow(self.key);
            stranger.connect(Time::from_nanos(1), &self.key, self.at)?;
            let mut packet = stranger.poll_transmit().ok_or("nothing is asked")?.packet;
            // Both codes have sixteen bytes.
            let end = packet.len() - 1;
            match host % 4 {
                0 => packet[end - 16] ^= 1,
                1 => packet[end] ^= 1,
                _ => {}
            }
            Ok::<_, Failure>(packet)
        };
        (10..250).map(message).collect()
    }
}

/// A flood, until it is dropped.
struct Flood {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<u32>>,
}

impl Flood {
    fn start(to: SocketAddr, messages: &Arc<Vec<Vec<u8>>>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, messages) = (Arc::clone(&is_over), Arc::clone(messages));
        let bind = |host| UdpSocket::bind((Ipv4Addr::new(127, 0, 1, host), 0));
        let sources = (1..=250).map(bind).collect::<Result<Vec<_>, _>>();
        let sources = sources.expect("all of 127.0.0.0/8 is here");
        let thread = Some(thread::spawn(move || send(to, &sources, &messages, &over)));
        Self { is_over, thread }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let sent = self.thread.take().map(|thread| thread.join().expect("it only sends"));
        assert!(sent > Some(0), "a flood of nothing");
    }
}

/// Sends first messages from many addresses of this machine, a few each millisecond; returns how many.
fn send(to: SocketAddr, sources: &[UdpSocket], messages: &[Vec<u8>], is_over: &AtomicBool) -> u32 {
    let mut pairs = messages.iter().cycle().zip(sources.iter().cycle());
    let (start, mut sent) = (Instant::now(), 0);
    loop {
        let due = 1.0 + start.elapsed().as_secs_f64() * f64::from(RATE);
        while f64::from(sent) < due
            && let Some((message, source)) = pairs.next()
        {
            // What the kernel has no room for is lost.
            let _ = source.send_to(message, to);
            sent += 1;
        }
        if is_over.load(Ordering::Relaxed) {
            return sent;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Measures how long so many messages take with a flood and without.
///
/// # Errors
/// When two nodes do not find each other.
pub(super) fn table(rounds: usize, count: u32, rows: &mut Vec<Row>) -> Result<Table, String> {
    eprintln!("secure: a flood");
    let failed = |error: Failure| error.to_string();
    let two = Rc::new(Two::start().map_err(failed)?);
    let messages = Arc::new(two.first_messages().map_err(failed)?);
    let nobody = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let elsewhere = nobody.local_addr().map_err(|error| error.to_string())?;
    let mut runners = Vec::new();
    for (who, to) in [
        ("no flood", None),
        ("a flood of a socket that nobody reads", Some(elsewhere)),
        ("a flood of the node", Some(two.at)),
        ("no flood (again)", None),
    ] {
        let (two, messages) = (Rc::clone(&two), Arc::clone(&messages));
        runners.push(Runner::new("flood", who, count, move |n| {
            let _flood = to.map(|to| Flood::start(to, &messages));
            two.tell(n)
        }));
    }
    interleave(rounds, &mut runners);
    let mut table = Table::new(&["beside", "a message", "of the time without"]);
    let mut without = None;
    for runner in runners {
        let who = runner.who;
        let nanos = runner.finish(rows);
        let ratio = nanos / *without.get_or_insert(nanos);
        let ratio = if who.ends_with("node") { goal(ratio, GOAL) } else { format!("{ratio:.2}") };
        table.row([who.to_owned(), time(nanos), ratio]);
    }
    Ok(table)
}
