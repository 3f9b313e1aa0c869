//! Who a node is, whom it knows, and its limits.

use super::socket::Options;
use crate::link;
use crate::rdma::Rdma;
use crate::secure::endpoint;
use crate::secure::identity::Identity;
use crate::secure::key::{Key, PublicKey};
use crate::station::{DATAGRAM_BYTES_MAX, Station};
use std::net::SocketAddr;

/// What a node of the UDP transport starts from.
///
/// ```
/// use greenroom_transports::secure::identity::Identity;
/// use greenroom_transports::secure::key::Key;
/// use greenroom_transports::udp::Settings;
///
/// // 32 bytes that were random once, and that nobody else has.
/// let (ours, theirs) = (Identity::new(Key::new([1; 32])), Identity::new(Key::new([2; 32])));
/// let settings = Settings::new(ours).peer(theirs.public(), Some("10.0.0.2:7000".parse()?));
/// # let _ = settings;
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) identity: Identity,
    pub(super) cluster: Option<Key>,
    pub(super) peers: Vec<(PublicKey, Option<SocketAddr>)>,
    pub(super) socket: Options,
    pub(super) secure: endpoint::Config,
    pub(super) link: link::Config,
    pub(super) rdma: Option<Rdma>,
}

impl Settings {
    /// Those of a node that knows nobody.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        let secure = endpoint::Config {
            datagram_bytes_max: DATAGRAM_BYTES_MAX,
            ..endpoint::Config::default()
        };
        let (socket, link) = (Options::default(), link::Config::default());
        Self { identity, cluster: None, peers: Vec::new(), socket, secure, link, rdma: None }
    }

    /// The key that all nodes of a cluster share. With it, a node may connect to an address without knowing whose it
    /// is, and no handshake without it succeeds.
    #[must_use]
    pub fn cluster_key(mut self, key: Key) -> Self {
        self.cluster = Some(key);
        self
    }

    /// Lets the node with that public key connect, and be connected to. At its address, if that is given, no other is
    /// expected.
    #[must_use]
    pub fn peer(mut self, key: PublicKey, at: Option<SocketAddr>) -> Self {
        self.peers.push((key, at));
        self
    }

    /// Sends by RDMA where both nodes have a device, and by UDP otherwise.
    #[must_use]
    pub fn rdma(mut self, rdma: Rdma) -> Self {
        self.rdma = Some(rdma);
        self.secure.lanes = self.secure.lanes.max(Station::LANES);
        self
    }

    /// What the socket is like.
    #[must_use]
    pub fn socket(mut self, options: Options) -> Self {
        self.socket = options;
        self
    }

    /// The limits of handshakes and associations.
    #[must_use]
    pub fn secure(mut self, mut config: endpoint::Config) -> Self {
        if self.rdma.is_some() {
            config.lanes = config.lanes.max(Station::LANES);
        }
        self.secure = config;
        self
    }

    /// The limits and times of links. Both nodes have to agree where [`link::Config`] says so.
    #[must_use]
    pub fn link(mut self, config: link::Config) -> Self {
        self.link = config;
        self
    }
}
