//! `kv` on several nodes: each has the keys that lie on its shards, and any of them answers for all.
//!
//! ```text
//! Connection -> Backend -> shards of this node
//!                      \-> Neighbour -- ask, over the network --> Porter of that node -> its shards
//! ```
//!
//! A job for another node is one question, which waits like any other, and is held up like any other when that node has
//! too much to do. While a node is down, commands for its keys are answered with an error; those that were under way when it
//! went may have been done, and their errors say so.

mod neighbour;
mod porter;
mod trouble;

pub(crate) use neighbour::Neighbour;
pub(crate) use porter::Porter;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use greenroom::net::{Export, Node, NodeId};
use greenroom::{Actor, Context, Ref, SpawnError, System, handlers};
use greenroom_transports::config::{ConfigError, NodeConfig, NotExported};
use greenroom_transports::link;
use greenroom_transports::udp::{BindError, Udp};

use super::layout::Layout;
use super::shard_actor::ShardActor;
use trouble::Names;

/// The name that a node's porter is exported under.
const NAME: &str = "kv";
/// The role of nodes with shards.
const SHARDS: &str = "shard";

/// After how long a silence a node is suspected to be down, and is: as long as a client may have to wait for an error.
const SUSPECT_AFTER: Duration = Duration::from_secs(2);
const DEAD_AFTER: Duration = Duration::from_secs(4);

/// Why a node does not take part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// Its file is not what it should be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No node has the role of those with shards.
    #[error("no node has the role {SHARDS:?}: give it to those that keep keys")]
    NoShards,
    /// The file tells of others whom the node would have to seek.
    #[error("a node of kv knows the others by [[peer]] alone: take [membership] out of its file")]
    Membership,
    /// There are more shards than a `SCAN` cursor can name.
    #[error("{shards} shards on all nodes are more than {max}")]
    TooMany {
        /// How many there would be.
        shards: usize,
        /// How many there may be.
        max: usize,
    },
    /// The transport does not start.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The file forbids what is needed.
    #[error(transparent)]
    Export(#[from] NotExported),
    /// An actor could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// A node's file, and what follows from it.
#[derive(Debug)]
pub(crate) struct Plan {
    config: NodeConfig,
    /// The nodes with shards, in the order of their ids.
    nodes: Vec<NodeId>,
}

impl Plan {
    /// Reads a node's file.
    pub(crate) fn read(file: &Path) -> Result<Self, NodeError> {
        let config = NodeConfig::read(file)?;
        // Where keys lie follows from the peers, so whom a membership finds has no part in that.
        if !config.seeds.is_empty() || !config.dns.is_empty() || config.period.is_some() {
            return Err(NodeError::Membership);
        }
        let nodes = config.with_role(SHARDS);
        if nodes.is_empty() {
            return Err(NodeError::NoShards);
        }
        Ok(Self { config, nodes })
    }

    /// Returns where keys lie if the node's peers have as many shards as it has.
    pub(crate) fn layout(&self, per_node: usize, max: usize) -> Result<Layout, NodeError> {
        let layout = Layout::of(self.nodes.clone(), self.me(), per_node);
        if layout.shards() > max {
            return Err(NodeError::TooMany { shards: layout.shards(), max });
        }
        Ok(layout)
    }

    /// Says which node this is and among which, as the directory of its keys has it.
    pub(crate) fn owner(&self) -> String {
        let nodes: Vec<_> = self.nodes.iter().map(NodeId::to_string).collect();
        format!("node {} among {}", self.me(), nodes.join(", "))
    }

    /// Returns which node this is.
    pub(crate) fn me(&self) -> NodeId {
        self.config.identity.public().node()
    }

    /// Returns the other nodes.
    pub(crate) fn neighbours(&self, layout: &Layout) -> Vec<Arc<Neighbour>> {
        let print = layout.fingerprint();
        let peers = self.config.peers.iter();
        peers.map(|peer| Arc::new(Neighbour::new(peer, print))).collect()
    }

    /// Lets the others reach the shards that are here, and keeps connected with them.
    pub(crate) async fn start(
        &self,
        system: &System,
        layout: &Layout,
        shards: &[Ref<ShardActor>],
        neighbours: Vec<Arc<Neighbour>>,
    ) -> Result<(Node, Nodes), NodeError> {
        let link = link::Config {
            suspect_after: SUSPECT_AFTER,
            dead_after: DEAD_AFTER,
            ..link::Config::default()
        };
        let udp = Udp::bind(self.config.udp().link(link), self.config.listen)?;
        let node = Node::start(system, udp.clone())?;
        let porter = system.spawn::<Porter>((shards.into(), layout.clone())).named("porter");
        let porter = porter.await?;
        self.config.export(&node, NAME, Export::of(&porter))?;
        let name = self.config.name.clone().unwrap_or_else(|| self.me().to_string());
        let nodes = Nodes { name, udp: udp.clone(), neighbours: neighbours.clone() };
        let names = Names::of(&self.config.peers);
        let start = (node.clone(), (udp, names), neighbours, shards.into());
        system.spawn::<Cluster>(start).named("cluster").await?;
        Ok((node, nodes))
    }
}

/// The nodes, as this one sees them.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// What this one is called.
    name: String,
    udp: Udp,
    neighbours: Vec<Arc<Neighbour>>,
}

impl Nodes {
    /// Says how each node is, as `INFO` shows it; this one, `me`, runs since `started_ms`.
    pub(crate) fn show(&self, me: NodeId, started_ms: i64) -> Vec<String> {
        let since = started_ms / 1000;
        let own = format!("name={},id={me},state=here,since={since}", self.name);
        let others = self.neighbours.iter().map(|neighbour| neighbour.show(&self.udp));
        std::iter::once(own).chain(others).collect()
    }
}

/// Keeps connected with the other nodes.
#[derive(Actor)]
struct Cluster;

#[handlers]
impl Cluster {
    #[start]
    fn start(
        node: Node,
        (udp, names): (Udp, Names),
        neighbours: Vec<Arc<Neighbour>>,
        shards: Arc<[Ref<ShardActor>]>,
        cx: &mut Context<Self>,
    ) -> Self {
        cx.task(trouble::watch(udp, names));
        for neighbour in neighbours {
            cx.task(neighbour::keep(node.clone(), neighbour, Arc::clone(&shards)));
        }
        Self
    }
}

fn say(what: fmt::Arguments<'_>) {
    // Nobody may be listening.
    let _ = writeln!(io::stderr(), "kv: {what}");
}
