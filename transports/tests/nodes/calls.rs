//! Nodes over encrypted UDP on this machine: the same references and calls as at home.

use crate::loopbacks::loopbacks;
use crate::{LONG, sessions, soon};
use greenroom::net::{Address, ConnectError, Export, LookupError, Node, transport_conforms};
use greenroom::{Actor, Ref, System, handlers};
use greenroom_transports::link;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::udp::socket::Options;
use greenroom_transports::udp::{Settings, Udp};
use std::net::SocketAddr;
use std::time::Duration;

/// Keeps what it is told.
#[derive(Actor, Default)]
pub(crate) struct Book {
    notes: Vec<u64>,
}

#[handlers(wire = "test.book/1")]
impl Book {
    #[tell]
    fn note(&mut self, number: u64) {
        self.notes.push(number);
    }
    #[ask]
    fn notes(&self) -> Vec<u64> {
        self.notes.clone()
    }
    #[ask]
    fn echo(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
}

/// A node on this machine.
pub(crate) struct Place {
    pub(crate) system: System,
    pub(crate) udp: Udp,
    pub(crate) node: Node,
}

pub(crate) fn settings(host: u8) -> Settings {
    Settings::new(Identity::new(Key::new([host; 32])))
}

fn place(settings: Settings) -> Place {
    place_at("127.0.0.1:0", settings)
}

fn place_at(at: &str, settings: Settings) -> Place {
    place_that_waits(LONG, at, settings)
}

/// With a limit for what is asked of others, and for each connection.
fn place_that_waits(limit: Duration, at: &str, settings: Settings) -> Place {
    started(limit, Udp::bind(settings, at.parse().unwrap()).unwrap())
}

pub(crate) fn started(limit: Duration, udp: Udp) -> Place {
    let system = System::builder().workers(1).ask_timeout(limit).build().unwrap();
    let node = Node::start(&system, udp.clone()).unwrap();
    Place { system, udp, node }
}

/// Two nodes that know each other's keys.
pub(crate) fn places() -> [Place; 2] {
    let [one, other] = [1, 2].map(|host| Identity::new(Key::new([host; 32])).public());
    [place(settings(1).peer(other, None)), place(settings(2).peer(one, None))]
}

/// Ends all of them, of which nothing may be left.
pub(crate) async fn end<const N: usize>(places: [Place; N]) {
    sessions::end(&places.each_ref().map(|it| (&it.system, &it.udp, &it.node))).await;
}

#[test]
fn an_actor_of_another_node_is_told_and_asked() {
    soon(async {
        let [here, there] = places();
        let book = there.system.spawn::<Book>(Book::default()).await.unwrap();
        there.node.export("book", Export::of(&book)).unwrap();
        let peer = here.node.connect(&there.udp.node_address()).await.unwrap();
        let far: Ref<Book> = peer.find("book").await.unwrap();
        for number in 0..5_000 {
            far.note(number).await.unwrap();
        }
        let notes = far.notes().within(LONG).await.unwrap();
        assert_eq!(notes, (0..5_000).collect::<Vec<_>>());
        for len in [0, 1, 1_100, 1_500, 70_000, 3_000_000] {
            let bytes: Vec<u8> = (0..len).map(|at: usize| (at % 251) as u8).collect();
            assert!(far.echo(bytes.clone()).within(LONG).await.unwrap() == bytes, "{len}");
        }
        let nobody = peer.find::<Book>("nobody").await;
        assert!(matches!(nobody, Err(LookupError::NoSuchName(_))), "{nobody:?}");
        end([here, there]).await;
    });
}

/// Transports that know each other's keys.
fn transports(at: SocketAddr, options: Options) -> [(Udp, Address); 2] {
    let [one, other] = [1, 2].map(|host| Identity::new(Key::new([host; 32])).public());
    [settings(1).peer(other, None), settings(2).peer(one, None)].map(|settings| {
        let udp = Udp::bind(settings.socket(options), at).unwrap();
        let address = udp.node_address();
        (udp, address)
    })
}

#[test]
fn udp_conforms() {
    for at in loopbacks() {
        let options = Options { offload: at.is_ipv4(), ..Options::default() };
        transport_conforms(|| transports(at, options));
    }
}

/// How long a connection is waited for that does not come.
const IN_VAIN: Duration = Duration::from_secs(8);

/// Nodes that share a cluster's key, and know nothing else of each other.
fn strangers<const N: usize>(limit: Duration) -> [Place; N] {
    let hosts: [u8; N] = std::array::from_fn(|at| 10 + at as u8);
    let key = || Key::new([99; 32]);
    hosts.map(|host| place_that_waits(limit, "127.0.0.1:0", settings(host).cluster_key(key())))
}

fn unreachable(outcome: Result<greenroom::net::Peer, ConnectError>) -> String {
    match outcome {
        Err(ConnectError::Unreachable { text, .. }) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn strangers_meet_by_the_clusters_key() {
    soon(async {
        let [one, two, three] = strangers(LONG);
        // By the address alone, and by the address with the key.
        let bare: Address = format!("udp:{}", two.udp.address()).parse().unwrap();
        let met = one.node.connect(&bare).await.unwrap();
        assert_eq!(met.identity(), two.node.identity());
        let met = one.node.connect(&three.udp.node_address()).await.unwrap();
        assert_eq!(met.identity(), three.node.identity());
        // Again, from the other side: they know each other by now.
        let back = three.node.connect(&one.udp.node_address()).await.unwrap();
        assert_eq!(back.identity(), one.node.identity());
        // At that address another one is expected.
        let other = Identity::new(Key::new([77; 32])).public();
        let wrong: Address = format!("udp:{}#{other}", three.udp.address()).parse().unwrap();
        assert_eq!(unreachable(two.node.connect(&wrong).await), "another node is there");
        end([one, two, three]).await;
    });
}

#[test]
fn an_address_where_nobody_is_holds_nobody_up() {
    soon(async {
        let [one, two] = strangers(IN_VAIN);
        let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let empty: Address = format!("udp:{}", nobody.local_addr().unwrap()).parse().unwrap();
        let there: Address = format!("udp:{}", two.udp.address()).parse().unwrap();
        let (lost, found) = tokio::join!(one.node.connect(&empty), one.node.connect(&there));
        assert_eq!(unreachable(lost), "there was no connection in time");
        assert_eq!(found.unwrap().identity(), two.node.identity());
        end([one, two]).await;
    });
}

#[test]
fn addresses_that_lead_nowhere_say_so() {
    soon(async {
        let [one, two] = places();
        let connect = async |address: &str| one.node.connect(&address.parse().unwrap()).await;
        let other_scheme = connect("tcp:127.0.0.1:1").await;
        assert!(matches!(other_scheme, Err(ConnectError::OtherScheme(_))), "{other_scheme:?}");
        let no_key = unreachable(connect("udp:127.0.0.1:1#00").await);
        assert_eq!(no_key, "a key has 64 hexadecimal digits, and a public one is that of a secret");
        let no_cluster = unreachable(connect("udp:127.0.0.1:1").await);
        assert_eq!(no_cluster, "there is no cluster key");
        let itself = unreachable(one.node.connect(&one.udp.node_address()).await);
        assert_eq!(itself, "that is this node itself");
        let other_family = unreachable(connect("udp:[::1]:1").await);
        assert_eq!(other_family, "there is no address of the socket's family");
        // A label is missing, so that no resolver is asked, which may take many seconds to say no.
        let no_name = unreachable(connect("udp:no..name:1").await);
        assert!(!no_name.is_empty());
        end([one, two]).await;
    });
}

#[test]
fn who_is_forbidden_stays_so() {
    soon(async {
        let [one, two] = strangers(IN_VAIN);
        let bare: Address = format!("udp:{}", two.udp.address()).parse().unwrap();
        let met = one.node.connect(&bare).await.unwrap();
        // With an answer, the other one knows of the connection, too.
        assert!(met.find::<Book>("nobody").await.is_err());
        one.udp.forbid(&two.udp.public());
        met.ended().await;
        // The other one hears of it when it says something.
        if let Some(forgotten) = two.node.peer(one.node.identity().node) {
            forgotten.ended().await;
        }
        // Neither meets again, whoever asks.
        assert_eq!(
            unreachable(one.node.connect(&two.udp.node_address()).await),
            "the node is forbidden"
        );
        let back: Address = format!("udp:{}", one.udp.address()).parse().unwrap();
        assert_eq!(unreachable(two.node.connect(&back).await), "there was no connection in time");
        one.udp.allow(two.udp.public());
        assert_eq!(two.node.connect(&back).await.unwrap().identity(), one.node.identity());
        end([one, two]).await;
    });
}

/// A system that ends without a word to its node, and peers that would wait for an hour before they gave it up.
#[test]
fn a_system_that_ends_is_missed_at_once() {
    soon(async {
        let patient = |host, other| {
            let other = Identity::new(Key::new([other; 32])).public();
            let dead_after = Duration::from_secs(3600);
            let link = link::Config { dead_after, ..link::Config::default() };
            place(settings(host).peer(other, None).link(link))
        };
        for is_orderly in [false, true] {
            let [here, there] = [patient(1, 2), patient(2, 1)];
            let peer = here.node.connect(&there.udp.node_address()).await.unwrap();
            assert!(peer.find::<Book>("nobody").await.is_err());
            if is_orderly {
                there.system.shutdown(LONG).await.unwrap();
                assert_eq!(there.system.leftovers(), Vec::<String>::new());
            } else {
                drop(there.system);
            }
            peer.ended().await;
            end([here]).await;
        }
    });
}

#[test]
fn who_connects_after_the_end_hears_of_it() {
    soon(async {
        let [one, two] = places();
        one.node.close().await;
        let refused = one.node.connect(&two.udp.node_address()).await;
        assert!(matches!(refused, Err(ConnectError::Closed)), "{refused:?}");
        assert_eq!(one.udp.failure(), None);
        end([one, two]).await;
    });
}

/// The first address of the name may be one where nobody is. [UDP-73]
#[test]
fn all_addresses_of_a_name_are_tried() {
    soon(async {
        let [one, two] = [1, 2].map(|host| Identity::new(Key::new([host; 32])).public());
        let [here, there] =
            [("[::]:0", settings(1).peer(two, None)), ("127.0.0.1:0", settings(2).peer(one, None))]
                .map(|(at, settings)| place_at(at, settings));
        let port = there.udp.address().port();
        let named: Address = format!("udp:localhost:{port}#{two}").parse().unwrap();
        let peer = here.node.connect(&named).await.unwrap();
        assert_eq!(peer.identity(), there.node.identity());
        end([here, there]).await;
    });
}

/// A name with addresses of both families leads to that which the socket reaches.
#[test]
fn names_lead_where_the_socket_reaches() {
    soon(async {
        let [one, two] = places();
        let port = two.udp.address().port();
        let named: Address = format!("udp:localhost:{port}#{}", two.udp.public()).parse().unwrap();
        assert_eq!(one.node.connect(&named).await.unwrap().identity(), two.node.identity());
        end([one, two]).await;
    });
}
