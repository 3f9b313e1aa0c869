//! A node's file: what it says, and what is said of one that is wrong.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

#[path = "../../runtime/tests/support/mod.rs"]
mod support;

use greenroom::net::{Export, Identity, Incarnation, Loopback, Node, NodeId, Transport};
use greenroom::{Actor, System, handlers};
use greenroom_transports::config::{ConfigError, NodeConfig, NotExported, Why, key_file};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::secure::entropy::System as Entropy;
use greenroom_transports::udp::Udp;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use support::Builds;

const EXAMPLE: &str = include_str!("../src/config/example.toml");
const PEER: &str = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";

/// A folder with keys, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("greenroom-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        key_file::create_node(&folder.join("node.key"), &mut Entropy).unwrap();
        key_file::create_cluster(&folder.join("cluster.key"), &mut Entropy).unwrap();
        Self(folder)
    }

    fn parse(&self, text: &str) -> Result<NodeConfig, ConfigError> {
        NodeConfig::parse(&self.0.join("a.toml"), text)
    }

    /// What is said of a text, without the folder.
    fn complaint(&self, text: &str) -> String {
        let error = self.parse(text).unwrap_err().to_string();
        error.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_documented_example_says_what_its_comments_say() {
    let folder = Folder::new("example");
    fs::write(folder.0.join("a.toml"), EXAMPLE).unwrap();
    let config = NodeConfig::read(folder.0.join("a.toml")).unwrap();
    assert_eq!(config.listen, "0.0.0.0:7000".parse().unwrap());
    let own = config.identity.public();
    assert_eq!(config.address().to_string(), format!("udp:node-a.example:7000#{own}"));
    assert_eq!(config.name.as_deref(), Some("a"));
    assert!(config.cluster.is_some() && config.roles.contains("shard"));
    assert_eq!(config.period, Some(Duration::from_secs(1)));
    assert_eq!(config.seeds[0].place(), "10.0.0.9:7000");
    assert_eq!(config.dns, ["nodes.example:7000"]);
    assert_eq!(config.rdma, Some(Rdma::auto()));
    let [peer] = &config.peers[..] else { panic!("one peer") };
    assert_eq!(peer.place().unwrap().to_string(), format!("udp:10.0.0.2:7000#{PEER}"));
    let mut shards = vec![own.node(), peer.key.node()];
    shards.sort();
    assert_eq!(config.with_role("shard"), shards);
    assert_eq!(config.with_role("other"), []);
}

#[test]
fn nodes_are_trusted_by_rdma_that_the_file_names() {
    let folder = Folder::new("trust");
    let text = EXAMPLE.replace("# trust =", "trust =");
    let config = folder.parse(&text).unwrap();
    assert_eq!(config.rdma, Some(Rdma::auto().trust(PEER.parse().unwrap())));
    let device = text.replace("\"auto\"", "\"rxe0\"");
    let config = folder.parse(&device).unwrap();
    assert_eq!(config.rdma, Some(Rdma::device("rxe0").trust(PEER.parse().unwrap())));
    let no_key = folder.complaint(&text.replacen(PEER, "b", 1));
    assert_eq!(no_key.split(" has").next(), Some("a.toml:22: trust: a public key"));
    let how = "rdma = \"rxe0\"\nrdma-port = 2\nrdma-gid = 3\nrdma-connections = 16";
    let config = folder.parse(&EXAMPLE.replace("rdma = \"auto\"", how)).unwrap();
    let [two, many] = [2, 16].map(|it| std::num::NonZeroU16::new(it).unwrap());
    let wanted = Rdma::device("rxe0").port(two.try_into().unwrap()).gid(3).connections_max(many);
    assert_eq!(config.rdma, Some(wanted));
    let too_many = "rdma = \"auto\"\nrdma-connections = 32512";
    let too_many = folder.complaint(&EXAMPLE.replace("rdma = \"auto\"", too_many));
    assert_eq!(too_many, "a.toml:17: rdma-connections: it must be from 1 to 32511");
    let most = "rdma = \"auto\"\nrdma-connections = 32511";
    assert!(folder.parse(&EXAMPLE.replace("rdma = \"auto\"", most)).is_ok());
    let alone = folder.complaint(&EXAMPLE.replace("rdma = \"auto\"", "rdma-gid = 3"));
    assert_eq!(alone, "a.toml:16: rdma-gid: it is for packets by RDMA: set rdma");
    let alone = folder.complaint(&text.replace("rdma = \"auto\"", ""));
    assert_eq!(alone, "a.toml:22: trust: it is for packets by RDMA: set rdma");
}

#[test]
fn what_may_be_left_out_may() {
    let folder = Folder::new("short");
    let config = folder.parse("listen = \"[::1]:7000\"\nkey-file = \"node.key\"\n").unwrap();
    let own = config.identity.public();
    assert_eq!(config.address().to_string(), format!("udp:[::1]:7000#{own}"));
    let to_any = folder.complaint("listen = \"127.0.0.1:0\"\nkey-file = \"node.key\"\n");
    assert!(to_any.starts_with("a.toml:1: listen: nobody reaches a node there"), "{to_any}");
    let told = "listen = \"0.0.0.0:0\"\nadvertise = \"a:7000\"\nkey-file = \"node.key\"\n";
    assert!(folder.parse(told).is_ok());
    assert!(config.cluster.is_none() && config.exports.is_none() && config.period.is_none());
}

/// Without a key that all share, a node is met by its own: the seed has it, or the peer at the same address.
#[test]
fn seeds_are_such_as_can_be_met() {
    let folder = Folder::new("seeds");
    let start = "listen = \"[::1]:7000\"\nkey-file = \"node.key\"\n";
    let with = |more: &str, seed: &str, peer: &str| {
        let at = format!("[[peer]]\nkey = \"{PEER}\"\naddress = \"{peer}\"\n");
        format!("{start}{more}[membership]\nseeds = [\"{seed}\"]\n{at}")
    };
    let (seed, elsewhere) = ("udp:10.0.0.9:7000", "10.0.0.2:7000");
    let unknown = folder.complaint(&with("", seed, elsewhere));
    let expected = "a.toml:4: membership.seeds: nobody there is known";
    assert!(unknown.starts_with(expected), "{unknown}");
    let named = format!("{seed}#{PEER}");
    for met in [
        with("", seed, "10.0.0.9:7000"),
        with("", &named, elsewhere),
        with("cluster-key-file = \"cluster.key\"\n", seed, elsewhere),
    ] {
        let config = folder.parse(&met).unwrap();
        assert_eq!(config.seeds.len(), 1);
    }
}

/// A peer's key holds for a seed where it is, also by a name, which the transport does not look up beforehand.
#[test]
fn a_seed_has_the_key_of_the_peer_there() {
    let folder = Folder::new("seed-of-peer");
    let start = "listen = \"[::1]:7000\"\nkey-file = \"node.key\"\n";
    for place in ["b.example:7000", "10.0.0.9:7000"] {
        let peer = format!("[[peer]]\nkey = \"{PEER}\"\naddress = \"{place}\"\n");
        let text = format!("{start}[membership]\nseeds = [\"udp:{place}\"]\n{peer}");
        let config = folder.parse(&text).unwrap();
        assert_eq!(config.seeds, [config.peers[0].place().unwrap()]);
    }
}

/// All nodes may have the same list: each passes over itself.
#[test]
fn a_node_does_not_seek_itself() {
    let folder = Folder::new("seed-itself");
    let start =
        "listen = \"[::1]:7000\"\nadvertise = \"a.example:7000\"\nkey-file = \"node.key\"\n";
    let own = folder.parse(start).unwrap().identity.public();
    for cluster in ["", "cluster-key-file = \"cluster.key\"\n"] {
        for itself in ["a.example:7000", "[0::1]:7000", &format!("elsewhere.example:7000#{own}")] {
            let seeds = format!("seeds = [\"udp:{itself}\", \"udp:b.example:7000#{PEER}\"]");
            let config = folder.parse(&format!("{start}{cluster}[membership]\n{seeds}\n")).unwrap();
            assert_eq!(config.seeds.len(), 1, "{itself}");
            assert_eq!(config.seeds[0].to_string(), format!("udp:b.example:7000#{PEER}"));
        }
    }
}

/// The owner has named it, however long its address is looked up: it may be told of before.
// [UDP-78]
#[test]
fn a_seed_that_is_named_with_its_key_is_allowed_from_the_start() {
    let folder = Folder::new("seed-with-key");
    key_file::create_node(&folder.0.join("c.key"), &mut Entropy).unwrap();
    let start = |key: &str| format!("listen = \"127.0.0.1:7000\"\nkey-file = \"{key}\"\n");
    let key = |file: &str| key_file::read_node(&folder.0.join(file)).unwrap().public();
    let seed = format!("seeds = [\"udp:c.invalid:7000#{}\"]", key("c.key"));
    let ours = folder.parse(&format!("{}[membership]\n{seed}\n", start("node.key"))).unwrap();
    let peer = format!("[[peer]]\nkey = \"{}\"\n", key("node.key"));
    let theirs = folder.parse(&format!("{}{peer}", start("c.key"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let system = System::builder().workers(1).own_as_set();
        let [ours, theirs] = [ours, theirs].map(|config| {
            let udp = Udp::bind(config.udp(), "127.0.0.1:0".parse().unwrap()).unwrap();
            (Node::start(&system, udp.clone()).unwrap(), udp)
        });
        let told = ours.1.connect_told(&theirs.1.node_address()).await;
        assert_eq!(told.unwrap(), theirs.1.identity());
    });
}

#[test]
fn what_is_wrong_is_named_by_file_line_and_key() {
    let folder = Folder::new("wrong");
    let own = folder.parse("listen = \"[::1]:1\"\nkey-file = \"node.key\"\n").unwrap();
    let own = own.identity.public().to_string();
    let cases = [
        ("listen = \"0.0.0.0:7000\"", "listen = \"7000\"", "a.toml:2: listen: an address to"),
        ("\"node-a.example:7000\"", "\"node a:7000\"", "a.toml:3: advertise: a place is"),
        ("node-a.example:7000", "node-a.example:0", "a.toml:3: advertise: a place is"),
        ("node-a.example:7000", "[::]:7000", "a.toml:3: advertise: nobody reaches a node there"),
        ("advertise = \"node-a.example:7000\"\n", "", "a.toml:2: listen: nobody reaches a node"),
        ("name = \"a\"", "nmae = \"a\"", "a.toml:11: nmae: unknown field `nmae`"),
        ("name = \"a\"", "name = 1", "a.toml:11: name: invalid type: integer"),
        ("name = \"a\"", "name = \" \"", "a.toml:11: name: it must not be empty"),
        ("name = \"a\"", "name = \"a", "a.toml:11: name: "),
        ("period-ms = 1000", "period-ms = 1", "a.toml:26: membership.period-ms: it must be from"),
        ("udp:10.0.0.9:7000", "10.0.0.9", "a.toml:27: membership.seeds: \"10.0.0.9\" is not an"),
        ("udp:10.0.0.9:7000", "tcp:10.0.0.9:7000", "a.toml:27: membership.seeds: nodes are sought"),
        ("udp:10.0.0.9:7000", "udp:10.0.0.9", "a.toml:27: membership.seeds: a place is"),
        ("udp:10.0.0.9:7000", "udp:10.0.0.9:7000#abc", "a.toml:27: membership.seeds: a public key"),
        ("nodes.example:7000", "nodes.example", "a.toml:28: membership.dns: a place is a name"),
        (PEER, &PEER[1..], "a.toml:33: peer.key: a public key has 64"),
        (PEER, &own, "a.toml:33: peer.key: another peer has it, or this node itself"),
        ("10.0.0.2:7000", "10.0.0.2", "a.toml:34: peer.address: a place is"),
        ("10.0.0.2:7000", "010.0.0.2:7000", "a.toml:34: peer.address: a place is"),
        ("10.0.0.2:7000", "10.0.2:7000", "a.toml:34: peer.address: a place is"),
        ("10.0.0.2:7000", "10.0.0.0X2.:7000", "a.toml:34: peer.address: a place is"),
        ("10.0.0.2:7000", "10.0.0.2:+7000", "a.toml:34: peer.address: a place is"),
        ("node-a.example:7000", "256.0.0.1:7000", "a.toml:3: advertise: a place is"),
        ("nodes.example:7000", "nodes.example:07000", "a.toml:28: membership.dns: a place is"),
        ("udp:10.0.0.9:7000", "udp:10.0.9:7000", "a.toml:27: membership.seeds: a place is"),
        (
            "10.0.0.2:7000",
            "Node-A.example:7000",
            "a.toml:34: peer.address: another peer has it, or",
        ),
        ("10.0.0.2:7000", "0.0.0.0:7000", "a.toml:34: peer.address: no node is there"),
        ("name = \"b\"", "name = \"a\"", "a.toml:32: peer.name: another peer has it, or this node"),
        ("\"node.key\"", "\"no.key\"", "a.toml:7: key-file: no.key: No such file"),
        ("\"node.key\"", "\"cluster.key\"", "a.toml:7: key-file: cluster.key: the file holds no"),
        ("cluster-key-file = \"cluster.key\"", "", "a.toml:28: membership.dns: who is found by"),
        ("listen = \"0.0.0.0:7000\"\n", "", "missing field `listen`"),
    ];
    for (right, wrong, complaint) in cases {
        assert!(EXAMPLE.contains(right), "{right}");
        let found = folder.complaint(&EXAMPLE.replace(right, wrong));
        assert!(found.contains(complaint), "{found:?} instead of {complaint:?}");
    }
    // A number in a name is none that ends it.
    for name in ["10.0.0.2.example", "node-2", "2b", "10.0.0.0x2g", "b."] {
        assert!(folder.parse(&EXAMPLE.replace("10.0.0.2:", &format!("{name}:"))).is_ok(), "{name}");
    }
    let again = "\n[[peer]]\nname = \"b\"\nkey = \"11";
    let name_twice = format!("{EXAMPLE}{again}{}\"\n", &PEER[2..]);
    assert!(folder.complaint(&name_twice).contains("a.toml:38: peer.name: another peer"));
    let place_twice = format!(
        "{}{again}{}\"\naddress = \"[0::2]:7000\"\n",
        EXAMPLE.replace("10.0.0.2:7000", "[::2]:7000"),
        &PEER[2..]
    )
    .replace("name = \"b\"\nkey = \"11", "key = \"11");
    assert!(folder.complaint(&place_twice).contains("peer.address: another peer"));
    fs::write(folder.0.join("long.toml"), vec![b'#'; (1 << 20) + 1]).unwrap();
    let long = NodeConfig::read(folder.0.join("long.toml")).unwrap_err();
    assert!(matches!(long.why, Why::TooLong), "{long}");
    let gone = NodeConfig::read(folder.0.join("gone.toml")).unwrap_err();
    assert!(matches!(gone.why, Why::Read(_)) && gone.line.is_none());
}

#[test]
fn keys_are_for_their_owner_alone_and_never_overwritten() {
    let folder = Folder::new("keys");
    let file = folder.0.join("b.key");
    let public = key_file::create_node(&file, &mut Entropy).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(key_file::read_node(&file).unwrap().public(), public);
    let again = key_file::create_node(&file, &mut Entropy).unwrap_err();
    assert!(again.to_string().contains("not overwritten"), "{again}");
    assert_eq!(key_file::read_node(&file).unwrap().public(), public);

    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let open = key_file::read_node(&file).unwrap_err();
    assert!(open.to_string().contains("(mode 640): chmod 600"), "{open}");

    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("# from the safe\n\n  {text}")).unwrap();
    assert_eq!(key_file::read_node(&file).unwrap().public(), public);
    for wrong in [String::new(), text.repeat(2), text.replace("node", "cluster"), "\0".repeat(9000)]
    {
        fs::write(&file, wrong).unwrap();
        assert!(key_file::read_node(&file).is_err());
    }
}

/// Says nothing.
#[derive(Actor)]
struct Mute;

#[handlers(wire = "test.mute/1")]
impl Mute {
    #[tell]
    fn hear(&mut self) {}
}

#[test]
fn only_what_the_file_allows_is_exported() {
    let folder = Folder::new("exports");
    let config = folder.parse(EXAMPLE).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let system = System::builder().workers(1).own_as_set();
        let identity = Identity { node: NodeId(1), incarnation: Incarnation(1) };
        let node = Node::start(&system, Loopback::new().node("a", identity)).unwrap();
        let mute = system.spawn::<Mute>(Mute).await.unwrap();
        config.export(&node, "kv", Export::of(&mute)).unwrap();
        let refused = config.export(&node, "admin", Export::of(&mute)).unwrap_err();
        assert_eq!(refused, NotExported::NotAllowed("admin".to_owned()));
        let twice = config.export(&node, "kv", Export::of(&mute)).unwrap_err();
        assert!(matches!(twice, NotExported::Refused(_)));
    });
}
