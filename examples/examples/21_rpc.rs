//! The same actors, asked in this process, over UDP and over RDMA: how long each answer takes.
//!
//! ```text
//! cargo run --release --example 21_rpc                    # and how many asks, if not 5,000 of each kind
//! cargo run --release --example 21_rpc --features rdma    # with the devices of this machine
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::net::{Export, Node};
use greenroom::{Actor, Ref, System, handlers};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::station::{Carrier, Why};
use greenroom_transports::udp::{Settings, Udp};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

/// Bytes of a text, and of a value.
const BYTES: usize = 64;
const KEYS: u64 = 1_000;
/// How long nodes have to bring up their devices.
const SOON: Duration = Duration::from_secs(10);

/// Says what it is told.
#[derive(Actor, Default)]
struct Echo {}

#[handlers(wire = "example.echo/1")]
impl Echo {
    #[ask]
    fn echo(&self, text: Vec<u8>) -> Vec<u8> {
        text
    }
}

/// Keeps values.
#[derive(Actor, Default)]
struct Table {
    values: BTreeMap<u64, Vec<u8>>,
}

#[handlers(wire = "example.table/1")]
impl Table {
    #[ask]
    fn put(&mut self, key: u64, value: Vec<u8>) -> bool {
        self.values.insert(key, value).is_none()
    }
    #[ask]
    fn get(&self, key: u64) -> Option<Vec<u8>> {
        self.values.get(&key).cloned()
    }
}

/// The two actors, wherever they are.
struct Service {
    echo: Ref<Echo>,
    table: Ref<Table>,
}

impl Service {
    async fn start(system: &System) -> Result<Self, Failure> {
        let echo = system.spawn::<Echo>(Echo::default()).await?;
        let table = system.spawn::<Table>(Table::default()).await?;
        Ok(Self { echo, table })
    }

    /// Asks one thing after the other, and prints a line with how long that took.
    async fn measure(&self, by: &str, asks: u64) -> Result<(), Failure> {
        let mut echoes = Histogram::<u64>::new(3)?;
        let mut tables = echoes.clone();
        for number in 0..asks {
            let (key, text) = (number % KEYS, vec![number as u8; BYTES]);
            let began = Instant::now();
            let said = self.echo.echo(text.clone()).await?;
            echoes.record(began.elapsed().as_nanos() as u64)?;
            assert_eq!(said, text);

            let began = Instant::now();
            self.table.put(key, text.clone()).await?;
            let put = Instant::now();
            let value = self.table.get(key).await?;
            tables.record((put - began).as_nanos() as u64)?;
            tables.record(put.elapsed().as_nanos() as u64)?;
            assert_eq!(value, Some(text));
        }
        println!("{by:<18}{}   {}", percentiles(&echoes), percentiles(&tables));
        Ok(())
    }
}

/// In microseconds: the median, 99 and 99.9 of a hundred, and the longest.
fn percentiles(nanoseconds: &Histogram<u64>) -> String {
    let of = |percent| nanoseconds.value_at_percentile(percent);
    [of(50.0), of(99.0), of(99.9), nanoseconds.max()]
        .map(|nanoseconds| format!("{:>9.1}", nanoseconds as f64 / 1000.0))
        .concat()
}

/// How two nodes talk.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Udp,
    /// By a queue pair; not sealed, if both trust whoever may be on the way.
    Rdma {
        trusting: bool,
    },
}

fn identity(who: u8) -> Identity {
    Identity::new(Key::new([who; 32]))
}

/// A node on loopback that knows the other one. Keys that anybody can guess are for examples.
fn node(system: &System, by: By, own: u8, other: u8) -> Result<(Node, Udp), Failure> {
    let other = identity(other).public();
    let mut settings = Settings::new(identity(own)).peer(other, None);
    if let By::Rdma { trusting } = by {
        let rdma = Rdma::auto();
        settings = settings.rdma(if trusting { rdma.trust(other) } else { rdma });
    }
    let udp = Udp::bind(settings, "127.0.0.1:0".parse()?)?;
    Ok((Node::start(system, udp.clone())?, udp))
}

/// Asks the service at another node, in a thread of its own.
async fn between_nodes(system: &System, by: By, asks: u64) -> Result<(), Failure> {
    let far = System::builder().workers(1).build()?;
    let (server, there) = node(&far, by, 1, 2)?;
    let (client, here) = node(system, by, 2, 1)?;
    let Service { echo, table } = Service::start(&far).await?;
    server.export("echo", Export::of(&echo))?;
    server.export("table", Export::of(&table))?;
    let peer = client.connect(&there.node_address()).await?;
    let service = Service { echo: peer.find("echo").await?, table: peer.find("table").await? };

    let (name, wanted) = match by {
        By::Udp => ("UDP", None),
        By::Rdma { trusting: false } => ("RDMA", Some(Carrier::Rdma)),
        By::Rdma { trusting: true } => ("RDMA, not sealed", Some(Carrier::RdmaPlain)),
    };
    match wanted {
        Some(wanted) if !goes_by(&here, &there, wanted).await => {
            // Either node may be the one without a device.
            let why = [&here, &there].into_iter().find_map(Udp::rdma_failure);
            let why = why.unwrap_or_else(|| format!("{:?}", here.carriers()));
            println!("{name:<18}not here: {why}");
        }
        _ => service.measure(name, asks).await?,
    }
    client.close().await;
    server.close().await;
    Ok(())
}

/// Waits until messages between them go that way; `false` if they do not.
async fn goes_by(here: &Udp, there: &Udp, wanted: Carrier) -> bool {
    let end = Instant::now() + SOON;
    let ways = || [here.carrier(&there.public()), there.carrier(&here.public())];
    while ways()[0] != Some(wanted) {
        // Whatever else was refused is tried again a moment later, and may go well.
        let is_without = ways().contains(&Some(Carrier::Udp(Why::NoDevice)));
        if is_without || Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    true
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Failure> {
    let asks = std::env::args().nth(1).map_or(Ok(5_000), |asks| asks.parse())?;
    println!("microseconds      {:-^36}   {:-^36}", " echo ", " put and get ");
    let names = ["p50", "p99", "p99.9", "max"].map(|name| format!("{name:>9}")).concat();
    println!("{:18}{names}   {names}", "");
    Service::start(&system).await?.measure("in this process", asks).await?;
    for by in [By::Udp, By::Rdma { trusting: false }, By::Rdma { trusting: true }] {
        between_nodes(&system, by, asks).await?;
    }
    Ok(())
}
