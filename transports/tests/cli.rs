//! The command `greenroom`, as a user runs it.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use greenroom_transports::config::{NodeConfig, key_file};
use std::ffi::OsStr;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of its own, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("greenroom-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn greenroom(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
        command.args(words).current_dir(&self.0).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_key_whose_file_has_an_odd_name_is_found() {
    let folder = Folder::new("odd");
    let made = text(&folder.greenroom(&["keygen", "a\\b \"\u{1b}ü\".key"]));
    let line = made.lines().find(|line| line.starts_with("key-file = ")).unwrap();
    fs::write(folder.0.join("a.toml"), format!("listen = \"[::1]:1\"\n{line}\n")).unwrap();
    let config = NodeConfig::read(folder.0.join("a.toml")).unwrap();
    assert!(made.contains(&config.identity.public().to_string()));
}

#[test]
fn what_keygen_prints_makes_the_files_of_two_nodes() {
    let folder = Folder::new("keygen");
    let a = folder.greenroom(&["keygen", "a.key"]);
    let b = folder.greenroom(&["keygen", "b.key"]);
    let cluster = folder.greenroom(&["keygen", "--cluster", "cluster.key"]);
    assert!(a.status.success() && b.status.success() && cluster.status.success());
    // The lines are used as they are printed.
    let part = |output: &Output, from: &str| {
        let text = text(output);
        let part = text[text.find(from).unwrap()..].lines().collect::<Vec<_>>();
        let end = part.iter().position(|line| line.is_empty()).unwrap_or(part.len());
        part[..end].join("\n")
    };
    let own = part(&a, "# in the file of this node");
    let shared = part(&cluster, "# in the file of each node");
    let peer = part(&b, "# in the files of others").replace("HOST:PORT", "127.0.0.1:7002");
    let file = format!("listen = \"127.0.0.1:7001\"\n{own}\n{shared}\n{peer}\n");
    fs::write(folder.0.join("a.toml"), file).unwrap();
    let config = NodeConfig::read(folder.0.join("a.toml")).unwrap();
    assert_eq!(config.peers[0].key, key_file::read_node(&folder.0.join("b.key")).unwrap().public());
    assert!(text(&a).contains(&config.identity.public().to_string()));
    let secret = fs::read_to_string(folder.0.join("a.key")).unwrap();
    let secret = secret.split_whitespace().last().unwrap();
    assert!(!text(&a).contains(secret), "the secret is not shown");

    let again = folder.greenroom(&["keygen", "a.key"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again).contains("not overwritten"));

    let doctor = folder.greenroom(&["doctor", "a.toml"]);
    let found = text(&doctor);
    let socket = ["buffers", "segmentation", "coalescing", "ECN", "IPv6", "listen"];
    for what in ["clock", "randomness", "cipher"].into_iter().chain(socket) {
        assert!(found.lines().any(|line| line.get(6..).is_some_and(|line| line.starts_with(what))));
    }
    assert!(found.contains("path            127.0.0.1:7002: packets of "), "{found}");
    let own = format!("key             {} is this node's\n", config.identity.public());
    let others = format!("key             {} is that of 127.0.0.1:7002\n", config.peers[0].key);
    assert!(found.contains(&own) && found.contains(&others), "{found}");
    assert!(doctor.status.success(), "{found}");
}

/// Each thing that is wrong with the devices, or that there are none, comes with its cure.
#[test]
fn the_doctor_looks_at_rdma_if_asked() {
    let folder = Folder::new("doctor-rdma");
    assert!(!text(&folder.greenroom(&["doctor"])).contains("RDMA"));
    let doctor = text(&folder.greenroom(&["doctor", "--rdma"]));
    let mut lines = doctor.lines().skip_while(|line| !line.contains("  RDMA"));
    let first = lines.next().expect("it says something of RDMA");
    assert!(
        first.starts_with("good") || lines.next().is_some_and(|cure| cure.contains("->")),
        "{doctor}"
    );
}

#[test]
fn the_doctor_says_what_must_be_mended() {
    let folder = Folder::new("doctor");
    folder.greenroom(&["keygen", "a.key"]);
    fs::write(folder.0.join("a.toml"), "listen = \"nowhere\"\nkey-file = \"a.key\"\n").unwrap();
    let doctor = folder.greenroom(&["doctor", "a.toml"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(
        text(&doctor).contains("BAD   file            a.toml:1: listen: "),
        "{}",
        text(&doctor)
    );

    // TEST-NET-1 (RFC 5737) is nobody's.
    let file = "listen = \"192.0.2.1:7000\"\nkey-file = \"a.key\"\n";
    fs::write(folder.0.join("a.toml"), file).unwrap();
    let doctor = folder.greenroom(&["doctor", "a.toml"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(text(&doctor).contains("BAD   listen          192.0.2.1:7000: "), "{}", text(&doctor));
}

/// Names are said at once that have no address, and who has the port cannot be known.
#[test]
fn the_doctor_looks_for_whom_a_node_seeks_and_at_a_port_that_is_taken() {
    let folder = Folder::new("doctor-seeds");
    folder.greenroom(&["keygen", "a.key"]);
    folder.greenroom(&["keygen", "--cluster", "cluster.key"]);
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let keys = "key-file = \"a.key\"\ncluster-key-file = \"cluster.key\"";
    let doctor = |seeds: &str, dns: &str| {
        let file =
            format!("listen = \"{at}\"\n{keys}\n[membership]\nseeds = [{seeds}]\ndns = [{dns}]\n");
        fs::write(folder.0.join("a.toml"), file).unwrap();
        let doctor = folder.greenroom(&["doctor", "a.toml"]);
        (doctor.status.code(), text(&doctor))
    };
    let (code, found) = doctor("\"udp:127.0.0.2:7000\"", "\"localhost:7000\"");
    assert_eq!(code, Some(0), "{found}");
    assert!(found.contains("good  path            127.0.0.2:7000: packets of "), "{found}");
    assert!(found.contains("good  members         localhost:7000: "), "{found}");
    assert!(found.contains(&format!("look  listen          {at} is taken\n")), "{found}");
    assert!(found.contains("0 to be mended, 1 to be looked at, "), "{found}");

    // Names that no DNS ever has (RFC 6761).
    let (code, found) = doctor("\"udp:seed.invalid:7000\"", "\"nodes.invalid:7000\"");
    assert_eq!(code, Some(1), "{found}");
    assert!(found.contains("BAD   path            seed.invalid:7000: "), "{found}");
    assert!(found.contains("look  members         nodes.invalid:7000: "), "{found}");
    assert!(found.contains("1 to be mended, 2 to be looked at, "), "{found}");
}

/// What is printed goes into a file of TOML, which is UTF-8.
#[test]
fn a_key_is_not_made_where_no_file_can_name_it() {
    let folder = Folder::new("bytes");
    for cluster in [&[][..], &["--cluster"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroom"));
        command.arg("keygen").args(cluster).arg(OsStr::from_bytes(b"\xff.key"));
        let made = command.current_dir(&folder.0).output().unwrap();
        assert_eq!(made.status.code(), Some(1));
        assert!(text(&made).contains("which is not UTF-8"), "{}", text(&made));
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    }
}

#[test]
fn a_wrong_command_line_is_explained() {
    let folder = Folder::new("words");
    for words in [&["keygen"][..], &[], &["heal"], &["doctor", "--cluster"], &["keygen", "a", "b"]]
    {
        let output = folder.greenroom(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output).contains("Try: greenroom --help"));
    }
    assert!(text(&folder.greenroom(&["--help"])).contains("Usage: greenroom keygen"));
}
