//! A cluster over encrypted UDP on this machine, from files: nodes find each other and notice who is gone.

use crate::support::{Builds, OwnSystem};
use crate::{LONG, ports};
use greenroom::System;
use greenroom::net::Node;
use greenroom::net::membership::{MemberEvent, Members};
use greenroom_transports::config::{NodeConfig, key_file};
use greenroom_transports::secure::entropy::System as Entropy;
use greenroom_transports::secure::key::PublicKey;
use greenroom_transports::udp::Udp;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A node that takes part.
struct Place {
    system: OwnSystem,
    node: Node,
    members: Members,
}

/// Starts the node that a file in `folder` describes, by a key in `folder`, with these lines beside.
fn join(folder: &Path, name: &str, lines: &str) -> Place {
    let port = ports::free();
    let file = folder.join(format!("{name}.toml"));
    let text = format!(
        "listen = \"127.0.0.1:{port}\"\nkey-file = \"{name}.key\"\ncluster-key-file = \"cluster.key\"\n{lines}"
    );
    fs::write(&file, text).unwrap();
    let config = NodeConfig::read(file).unwrap();
    let system = System::builder().workers(1).own_as_set();
    let node = Node::start(&system, Udp::bind(config.udp(), config.listen).unwrap()).unwrap();
    let members = config.membership().start(&node).unwrap();
    Place { system, node, members }
}

/// The lines that let a node in.
fn peer(key: &PublicKey, place: Option<&Place>) -> String {
    let address = place.map(|place| {
        let place = place.members.me().address.place().split('#').next().unwrap().to_owned();
        format!("address = \"{place}\"\n")
    });
    format!("\n[[peer]]\nkey = \"{key}\"\n{}", address.unwrap_or_default())
}

#[test]
fn nodes_of_a_cluster_find_each_other_over_udp() {
    let name = format!("greenroom-cluster-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir(&folder).unwrap();
    key_file::create_cluster(&folder.join("cluster.key"), &mut Entropy).unwrap();
    let keys = ["a", "b", "c"].map(|name| {
        key_file::create_node(&folder.join(format!("{name}.key")), &mut Entropy).unwrap()
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let test = async {
            let period = "\n[membership]\nperiod-ms = 1000\n";
            // The first knows the others' keys alone; they know where it is, and not where the other one is.
            let known = [peer(&keys[1], None), peer(&keys[2], None)].concat();
            let a = join(&folder, "a", &format!("{period}{known}"));
            let mut events = a.members.subscribe();
            let known = |other: &PublicKey| [peer(&keys[0], Some(&a)), peer(other, None)].concat();
            let b = join(&folder, "b", &format!("{period}{}", known(&keys[2])));
            let c = join(&folder, "c", &format!("{period}{}", known(&keys[1])));
            let mut told = b.members.subscribe();
            let mut up = Vec::new();
            while up.len() < 2 {
                let Some(MemberEvent::Up(member)) = events.next().await else { panic!("down") };
                up.push(member.identity);
            }
            up.sort();
            let mut wanted = vec![b.node.identity(), c.node.identity()];
            wanted.sort();
            assert_eq!(up, wanted);
            // The first has told the second of the third, and they are connected.
            while b.members.members().len() < 3 {
                told.next().await.unwrap();
            }
            while b.node.peer(c.node.identity().node).is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // One goes without a word.
            c.system.shutdown(LONG).await.unwrap();
            let gone = c.node.identity();
            loop {
                match events.next().await.unwrap() {
                    MemberEvent::Down(member) if member.identity == gone => break,
                    MemberEvent::Down(member) => panic!("{member:?} is there"),
                    _ => {}
                }
            }
        };
        tokio::time::timeout(LONG * 2, test).await.expect("in time");
    });
    fs::remove_dir_all(&folder).unwrap();
}
