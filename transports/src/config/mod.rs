//! A node's settings from a TOML file: its key, where it listens, whom it knows, and what they do.
//!
//! ```toml
#![doc = include_str!("example.toml")]
//! ```
//!
//! Paths are relative to the file. Everything is checked when it is read, and what is wrong is named by file, line
//! and key.

mod error;
pub mod key_file;
mod raw;

pub use error::{ConfigError, Why};
pub use key_file::KeyFileError;

use crate::rdma::Rdma;
use crate::secure::identity::Identity;
use crate::secure::key::{Key, PublicKey};
use crate::udp;
use error::Source;
use greenroom::Protocol;
use greenroom::net::membership::Membership;
use greenroom::net::{Address, Export, ExportError, Node, NodeId, WireMessage};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::num::{NonZeroU8, NonZeroU16};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;

/// Milliseconds between two probes, at least and at most.
const PERIOD_MS: (u64, u64) = (10, 600_000);

/// Bytes of a file: room for thousands of peers, and not for what is no such file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a node's file says; see the [module](self).
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// What people call the node; its role in messages to them.
    pub name: Option<String>,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where others reach it: a name or an IP address, and a port. The same as `listen` unless the file says so, which
    /// it must where that is all addresses of the machine, or any port.
    pub advertise: String,
    /// Its key.
    pub identity: Identity,
    /// The key that the cluster shares, if it does.
    pub cluster: Option<Key>,
    /// What it does.
    pub roles: BTreeSet<String>,
    /// What [`NodeConfig::export`] may export, if not everything. It does not bind what goes past that: [`Node::export`],
    /// memberships and groups of this program.
    pub exports: Option<BTreeSet<String>>,
    /// Whether it sends by RDMA where it can, by which device, and to whom without sealing.
    pub rdma: Option<Rdma>,
    /// The nodes that it knows.
    pub peers: Vec<Peer>,
    /// Where others are sought beside the peers. Those where a peer is have its key; without a key that the cluster shares,
    /// all have their node's. This node itself is left out.
    pub seeds: Vec<Address>,
    /// Names whose addresses others are sought at, with their ports.
    pub dns: Vec<String>,
    /// The time between two probes, if the file says it.
    pub period: Option<Duration>,
}

/// Another node, as a file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What people call it.
    pub name: Option<String>,
    /// Who it is.
    pub key: PublicKey,
    /// Where it is: a name or an IP address, and a port. Without one, it is this node that is connected to.
    pub address: Option<String>,
    /// What it does.
    pub roles: BTreeSet<String>,
}

/// Why an actor is not exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotExported {
    /// The node's file allows other names only.
    #[error("the node's file does not allow to export {0:?}")]
    NotAllowed(String),
    /// The node refuses.
    #[error(transparent)]
    Refused(#[from] ExportError),
}

impl NodeConfig {
    /// Reads a file, and the files with keys that it names.
    ///
    /// # Errors
    /// [`ConfigError`], which says where what is wrong.
    pub fn read(file: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let file = file.as_ref();
        let text = read(file).map_err(|why| ConfigError {
            file: file.to_owned(),
            line: None,
            key: None,
            why,
        })?;
        Self::parse(file, &text)
    }

    /// As [`NodeConfig::read`], from the text of the file.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let source = Source { file, text };
        let raw: raw::File = toml::from_str(text).map_err(|error| source.malformed(&error))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let identity = key_file::read_node(&folder.join(raw.key_file.get_ref()))
            .map_err(|why| source.blame("key-file", raw.key_file.span(), why))?;
        let cluster = raw.cluster_key_file.as_ref().map(|path| {
            key_file::read_cluster(&folder.join(path.get_ref()))
                .map_err(|why| source.blame("cluster-key-file", path.span(), why))
        });
        let cluster = cluster.transpose()?;
        let listen = raw.listen.get_ref().parse();
        let listen: SocketAddr =
            listen.map_err(|why| source.blame("listen", raw.listen.span(), Why::from(why)))?;
        let advertise = source.advertise(raw.advertise.as_ref(), &raw.listen, listen)?;
        let name = raw.name.map(|name| source.name("name", name)).transpose()?;
        let (own, at) = (identity.public(), listen.to_string());
        let peers = source.peers(raw.peer, &own, name.as_deref(), [&advertise, &at])?;
        if let (Some(name), None) = (raw.membership.dns.first(), &cluster) {
            return Err(source.blame("membership.dns", name.span(), Why::NoClusterKey));
        }
        let there = peers.iter().filter_map(|peer| Some((peer.address.as_deref()?, peer.key)));
        let known: Vec<_> = [(&*advertise, own), (&*at, own)].into_iter().chain(there).collect();
        let seeds = source.seeds(&raw.membership.seeds, cluster.is_some(), &own, &known)?;
        let exports = raw.exports.map(|names| source.names("exports", names)).transpose()?;
        Ok(Self {
            name,
            listen,
            advertise,
            identity,
            cluster,
            roles: source.names("roles", raw.roles)?,
            exports,
            rdma: source.rdma(
                raw.rdma,
                (raw.rdma_port, raw.rdma_gid, raw.rdma_connections),
                &raw.trust,
            )?,
            peers,
            seeds,
            dns: source.places("membership.dns", &raw.membership.dns)?,
            period: source.period(raw.membership.period_ms)?,
        })
    }

    /// What the UDP transport starts from.
    #[must_use]
    pub fn udp(&self) -> udp::Settings {
        let mut settings = udp::Settings::new(self.identity.clone());
        if let Some(key) = &self.cluster {
            settings = settings.cluster_key(key.clone());
        }
        if let Some(rdma) = &self.rdma {
            settings = settings.rdma(rdma.clone());
        }
        for peer in &self.peers {
            let at = peer.address.as_ref().and_then(|at| at.parse().ok());
            settings = settings.peer(peer.key, at);
        }
        // With a cluster key, a seed may not know this node, and is met first. Without one it may be told of before it is
        // asked, and ask itself. [UDP-78]
        if self.cluster.is_none() {
            for key in self.seeds.iter().filter_map(key_of) {
                settings = settings.peer(key, None);
            }
        }
        settings
    }

    /// Where others reach this node.
    #[must_use]
    pub fn address(&self) -> Address {
        address(&self.advertise, &self.identity.public())
    }

    /// Membership of this node, which seeks its peers, its seeds, and whom the DNS names.
    pub fn membership(&self) -> Membership {
        let mut membership = Membership::at(self.address());
        for seed in self.peers.iter().filter_map(Peer::place).chain(self.seeds.iter().cloned()) {
            membership = membership.seed(seed);
        }
        for name in &self.dns {
            membership = membership.seed_dns("udp", name);
        }
        match self.period {
            Some(period) => membership.period(period),
            None => membership,
        }
    }

    /// The nodes with a role, this one included, in the order of their ids: the same at each node whose file names the
    /// same nodes.
    #[must_use]
    pub fn with_role(&self, role: &str) -> Vec<NodeId> {
        let peers = self.peers.iter().filter(|peer| peer.roles.contains(role));
        let mut nodes: Vec<_> = peers.map(|peer| peer.key.node()).collect();
        if self.roles.contains(role) {
            nodes.push(self.identity.public().node());
        }
        nodes.sort_unstable();
        nodes
    }

    /// Lets other nodes reach an actor, if the file allows it.
    ///
    /// # Errors
    /// [`NotExported`].
    pub fn export<P: Protocol<Message: WireMessage>>(
        &self,
        node: &Node,
        name: &str,
        export: Export<P>,
    ) -> Result<(), NotExported> {
        if self.exports.as_ref().is_some_and(|allowed| !allowed.contains(name)) {
            return Err(NotExported::NotAllowed(name.to_owned()));
        }
        Ok(node.export(name, export)?)
    }
}

impl Peer {
    /// Where a connection to it is made, if the file says where it is.
    #[must_use]
    pub fn place(&self) -> Option<Address> {
        self.address.as_ref().map(|at| address(at, &self.key))
    }
}

/// The text of a file that is no longer than a node's may be.
fn read(file: &Path) -> Result<String, Why> {
    let mut text = String::new();
    fs::File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX { Err(Why::TooLong) } else { Ok(text) }
}

/// Whether it may be the name of a host. One that ends in a number is an address that is written wrongly, of which resolvers
/// make another: 8.0.0.1 of 010.0.0.1, and 10.0.0.1 of 10.0.1.
fn is_name(host: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or(host);
    let (digits, radix) = match last.strip_prefix("0x").or_else(|| last.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (last, 10),
    };
    // Also one that has none.
    let is_number = digits.chars().all(|c| c.is_digit(radix));
    host.chars().all(is_plain) && !is_number
}

/// Whether it is a port in the one way in which it may be written behind a name.
fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port > 0 && port.to_string() == text)
}

/// A place in the one way of many in which it may be written.
fn canonical(place: &str) -> String {
    let address = place.parse::<SocketAddr>().map(|at| at.to_string());
    address.unwrap_or_else(|_| place.to_ascii_lowercase())
}

/// Whether a socket there takes all addresses of a machine, or any port: not where one is to be found.
fn is_nowhere(place: &str) -> bool {
    let is_any = |at: SocketAddr| at.ip().to_canonical().is_unspecified() || at.port() == 0;
    place.parse().is_ok_and(is_any)
}

/// Whose address it is, if it says so.
fn key_of(address: &Address) -> Option<PublicKey> {
    address.place().split_once('#').and_then(|(_, key)| key.parse().ok())
}

fn address(place: &str, key: &PublicKey) -> Address {
    format!("udp:{place}#{key}").parse().expect("it has a scheme and a place")
}

/// The port, the address and the connections of a device.
type HowRdma = (Option<Spanned<NonZeroU8>>, Option<Spanned<u8>>, Option<Spanned<NonZeroU16>>);

impl Source<'_> {
    fn name(&self, key: &str, name: Spanned<String>) -> Result<String, ConfigError> {
        if name.get_ref().trim().is_empty() {
            return Err(self.blame(key, name.span(), Why::Empty));
        }
        Ok(name.into_inner())
    }

    fn names(
        &self,
        key: &str,
        names: Vec<Spanned<String>>,
    ) -> Result<BTreeSet<String>, ConfigError> {
        names.into_iter().map(|name| self.name(key, name)).collect()
    }

    /// That device, or any, how it is used, and whom to trust.
    fn rdma(
        &self,
        device: Option<Spanned<String>>,
        (port, gid, connections): HowRdma,
        trust: &[Spanned<String>],
    ) -> Result<Option<Rdma>, ConfigError> {
        let Some(device) = device else {
            let needless = [
                port.map(|it| ("rdma-port", it.span())),
                gid.map(|it| ("rdma-gid", it.span())),
                connections.map(|it| ("rdma-connections", it.span())),
                trust.first().map(|key| ("trust", key.span())),
            ];
            let first = needless.into_iter().flatten().next();
            return first.map_or(Ok(None), |(key, at)| Err(self.blame(key, at, Why::NoRdma)));
        };
        let device = self.name("rdma", device)?;
        let mut rdma = if device == "auto" { Rdma::auto() } else { Rdma::device(device) };
        rdma = port.into_iter().fold(rdma, |rdma, port| rdma.port(port.into_inner()));
        rdma = gid.into_iter().fold(rdma, |rdma, gid| rdma.gid(gid.into_inner()));
        if let Some(connections) = connections {
            let max = Rdma::CONNECTIONS_MAX;
            if connections.get_ref().get() > max {
                let why = Why::OutOfRange { min: 1, max: max.into() };
                return Err(self.blame("rdma-connections", connections.span(), why));
            }
            rdma = rdma.connections_max(connections.into_inner());
        }
        let trusted =
            trust.iter().try_fold(rdma, |rdma, key| Ok(rdma.trust(self.public("trust", key)?)));
        trusted.map(Some)
    }

    fn public(&self, of: &str, key: &Spanned<String>) -> Result<PublicKey, ConfigError> {
        key.get_ref().parse().map_err(|_| self.blame(of, key.span(), Why::NotAKey))
    }

    /// A host and a port.
    fn place(&self, key: &str, place: &Spanned<String>) -> Result<String, ConfigError> {
        let text = place.get_ref();
        let named =
            || text.rsplit_once(':').is_some_and(|(host, port)| is_name(host) && is_port(port));
        let is_place = text.parse::<SocketAddr>().map_or_else(|_| named(), |at| at.port() > 0);
        if is_place { Ok(text.clone()) } else { Err(self.blame(key, place.span(), Why::NotAPlace)) }
    }

    /// Where others reach the node that listens there.
    fn advertise(
        &self,
        place: Option<&Spanned<String>>,
        listen: &Spanned<String>,
        at: SocketAddr,
    ) -> Result<String, ConfigError> {
        let (told, key, span) = match place {
            Some(place) => (self.place("advertise", place)?, "advertise", place.span()),
            None => (at.to_string(), "listen", listen.span()),
        };
        if is_nowhere(&told) {
            return Err(self.blame(key, span, Why::Nowhere));
        }
        Ok(told)
    }

    fn places(&self, key: &str, places: &[Spanned<String>]) -> Result<Vec<String>, ConfigError> {
        places.iter().map(|place| self.place(key, place)).collect()
    }

    /// Addresses of this transport, with somebody else there who can be met. `known` is who is where.
    fn seeds(
        &self,
        seeds: &[Spanned<String>],
        has_cluster: bool,
        own: &PublicKey,
        known: &[(&str, PublicKey)],
    ) -> Result<Vec<Address>, ConfigError> {
        let read = |seed: &Spanned<String>| {
            let name = "membership.seeds";
            let blame = |why: Why| self.blame(name, seed.span(), why);
            let there: Result<Address, _> = seed.get_ref().parse();
            let there = there.map_err(|why| blame(why.into()))?;
            if there.scheme() != "udp" {
                return Err(blame(Why::NotUdp));
            }
            let part = |text: &str| Spanned::new(seed.span(), text.to_owned());
            let (place, key) = match there.place().split_once('#') {
                Some((place, key)) => (place, Some(self.public(name, &part(key))?)),
                None => (there.place(), None),
            };
            let place = self.place(name, &part(place))?;
            let named = key.map(|key| (&*place, key));
            // The transport knows peers at IP addresses alone: a name needs the key.
            let found = || known.iter().copied().find(|(at, _)| canonical(at) == canonical(&place));
            match named.or_else(found) {
                // All nodes may have the same list.
                Some((_, key)) if key == *own => Ok(None),
                Some((place, key)) => Ok(Some(address(place, &key))),
                None if has_cluster => Ok(Some(there)),
                None => Err(blame(Why::NobodyKnown)),
            }
        };
        seeds.iter().filter_map(|seed| read(seed).transpose()).collect()
    }

    fn period(&self, period: Option<Spanned<u64>>) -> Result<Option<Duration>, ConfigError> {
        let Some(period) = period else { return Ok(None) };
        let (min, max) = PERIOD_MS;
        if !(min..=max).contains(period.get_ref()) {
            let why = Why::OutOfRange { min, max };
            return Err(self.blame("membership.period-ms", period.span(), why));
        }
        Ok(Some(Duration::from_millis(period.into_inner())))
    }

    /// The peers, none of whom is the node itself, which is called so and is at these places.
    fn peers(
        &self,
        peers: Vec<raw::Peer>,
        own: &PublicKey,
        name: Option<&str>,
        places: [&str; 2],
    ) -> Result<Vec<Peer>, ConfigError> {
        let mut keys = BTreeSet::from([*own]);
        let mut names: BTreeSet<_> = name.map(str::to_owned).into_iter().collect();
        let mut places = BTreeSet::from(places.map(canonical));
        let twice = |key: &str, at: Range<usize>| self.blame(key, at, Why::Twice);
        let mut all = Vec::new();
        for raw in peers {
            let key = self.public("peer.key", &raw.key)?;
            if !keys.insert(key) {
                return Err(twice("peer.key", raw.key.span()));
            }
            let place =
                raw.address.as_ref().map(|at| self.place("peer.address", at)).transpose()?;
            if let (Some(place), Some(raw)) = (&place, &raw.address) {
                if is_nowhere(place) {
                    return Err(self.blame("peer.address", raw.span(), Why::NoPeer));
                }
                if !places.insert(canonical(place)) {
                    return Err(twice("peer.address", raw.span()));
                }
            }
            if let Some(raw) = &raw.name
                && !names.insert(raw.get_ref().clone())
            {
                return Err(twice("peer.name", raw.span()));
            }
            let name = raw.name.map(|name| self.name("peer.name", name)).transpose()?;
            let roles = self.names("peer.roles", raw.roles)?;
            all.push(Peer { name, key, address: place, roles });
        }
        Ok(all)
    }
}
