//! Three nodes that share the keys: real programs, each with a file, a key and a directory of its own.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use greenroom_transports::config::key_file;
use greenroom_transports::secure::entropy::System;

use crate::kv_support::{Client, PATIENCE, address_of, ended, ports, signal};

pub(crate) const COUNT: usize = 3;
/// Shards of each.
const SHARDS: &str = "2";

/// The nodes, those that are down as `None`.
pub(crate) struct Nodes {
    folder: PathBuf,
    /// Whether keys outlive their node.
    kept: bool,
    running: [Option<(Child, SocketAddr)>; COUNT],
}

impl Nodes {
    /// Starts nodes that keep their keys in memory alone.
    pub(crate) fn start() -> Self {
        Self::start_with(false)
    }

    /// Starts nodes that each keep their keys in a directory.
    pub(crate) fn start_kept() -> Self {
        Self::start_with(true)
    }

    /// Writes the files, and starts all nodes; returns when each answers for all keys.
    fn start_with(kept: bool) -> Self {
        static FOLDERS: AtomicU64 = AtomicU64::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("kv-nodes-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        write_files(&folder);
        let mut nodes = Self { folder, kept, running: [None, None, None] };
        (0..COUNT).for_each(|node| nodes.launch(node));
        nodes.until_whole();
        nodes
    }

    /// Starts one node.
    pub(crate) fn launch(&mut self, node: usize) {
        self.launch_with(node, SHARDS);
    }

    /// Starts one node with so many shards.
    pub(crate) fn launch_with(&mut self, node: usize, shards: &str) {
        let command = self.command(node, shards);
        self.run(node, command);
    }

    /// Starts one node, no file of which may grow beyond 4 MiB; trying is an error rather than a signal.
    pub(crate) fn launch_limited(&mut self, node: usize) {
        let limited = "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"";
        let kv = self.command(node, SHARDS);
        let mut command = Command::new("sh");
        command.args(["-c", limited]).arg(kv.get_program()).args(kv.get_args());
        self.run(node, command);
    }

    /// What it says of itself goes to a file, which a test that fails shows.
    fn run(&mut self, node: usize, mut command: Command) {
        let said = File::options().create(true).append(true).open(self.said(node)).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(said);
        let mut child = command.spawn().unwrap();
        let address = address_of(&mut child);
        self.running[node] = Some((child, address));
    }

    fn command(&self, node: usize, shards: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kv"));
        command.args(["--listen", "127.0.0.1:0", "--workers", "2", "--shards", shards, "--node"]);
        command.arg(self.folder.join(format!("{node}.toml")));
        if self.kept {
            command.arg("--dir").arg(self.folder.join(format!("data-{node}")));
        }
        command
    }

    fn said(&self, node: usize) -> PathBuf {
        self.folder.join(format!("{node}.said"))
    }

    /// Runs a program in the folder of the nodes that is not to start; returns what it says.
    pub(crate) fn refusal(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kv"));
        command.args(["--listen", "127.0.0.1:0"]).args(arguments).current_dir(&self.folder);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Makes a directory of keys for so many shards.
    pub(crate) fn make(&self, dir: &str, shards: &str) {
        let dir = self.folder.join(dir);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("shards"), shards).unwrap();
    }

    /// Changes a node's file; returns what it was.
    pub(crate) fn rewrite(&self, node: usize, change: impl Fn(&str) -> String) -> String {
        let file = self.folder.join(format!("{node}.toml"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(file, change(&text)).unwrap();
        text
    }

    /// Ends a node as a power cut does.
    pub(crate) fn kill(&mut self, node: usize) {
        let (mut child, _) = self.running[node].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Ends a node in order; the test fails if it does not end so.
    pub(crate) fn stop(&mut self, node: usize) {
        let (mut child, _) = self.running[node].take().unwrap();
        signal(&child, "-TERM");
        assert!(ended(&mut child).success());
    }

    /// Waits until a node has ended by itself; returns its exit code.
    pub(crate) fn ended(&mut self, node: usize) -> Option<i32> {
        let (mut child, _) = self.running[node].take().unwrap();
        ended(&mut child).code()
    }

    pub(crate) fn port(&self, node: usize) -> String {
        self.running[node].as_ref().unwrap().1.port().to_string()
    }

    pub(crate) fn client(&self, node: usize) -> Client {
        Client::connect(self.running[node].as_ref().unwrap().1)
    }

    /// Waits until every node that runs answers for all keys.
    pub(crate) fn until_whole(&self) {
        for node in (0..COUNT).filter(|node| self.running[*node].is_some()) {
            self.until(node, |text| !text.starts_with("CLUSTERDOWN"));
        }
    }

    /// Waits until every node that runs knows that `down` does not. Before, one may say no more than that a question was
    /// not answered.
    pub(crate) fn until_down(&self, down: usize) {
        let wanted = format!("CLUSTERDOWN node {down} is down");
        for node in (0..COUNT).filter(|node| self.running[*node].is_some()) {
            self.until(node, |text| text.starts_with(&wanted));
        }
    }

    /// Waits until what a node says to a question for all keys is as wanted.
    pub(crate) fn until(&self, node: usize, is_wanted: impl Fn(&str) -> bool) {
        let mut client = self.client(node);
        let end = Instant::now() + PATIENCE;
        loop {
            let text = client.text(&["DBSIZE"]);
            if is_wanted(&text) {
                return;
            }
            assert!(Instant::now() < end, "node {node} says {text}");
            thread::yield_now();
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for (child, _) in self.running.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if thread::panicking() {
            let said = (0..COUNT).map(|node| fs::read_to_string(self.said(node)));
            eprintln!("the nodes said: {:#?}", said.collect::<Vec<_>>());
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// As the example's README says to.
fn write_files(folder: &std::path::Path) {
    let cluster = folder.join("cluster.key");
    key_file::create_cluster(&cluster, &mut System).unwrap();
    let places = [(); COUNT].map(|()| SocketAddr::from(([127, 0, 0, 1], ports::free())));
    let keys: Vec<_> = (0..COUNT)
        .map(|node| key_file::create_node(&folder.join(format!("{node}.key")), &mut System))
        .map(Result::unwrap)
        .collect();
    for node in 0..COUNT {
        let mut text = format!(
            "listen = \"{}\"\nkey-file = \"{node}.key\"\ncluster-key-file = \"cluster.key\"\n\
             name = \"{node}\"\nroles = [\"shard\"]\nexports = [\"kv\"]\n",
            places[node]
        );
        for peer in (0..COUNT).filter(|peer| *peer != node) {
            text += &format!(
                "\n[[peer]]\nname = \"{peer}\"\nkey = \"{}\"\naddress = \"{}\"\nroles = [\"shard\"]\n",
                keys[peer], places[peer]
            );
        }
        fs::write(folder.join(format!("{node}.toml")), text).unwrap();
    }
}
