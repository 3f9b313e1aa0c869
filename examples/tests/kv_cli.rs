//! The program `kv`: what it prints, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

fn kv(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kv"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(arguments: &[&str]) -> (Output, String, String) {
    let output = kv(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output, out, err)
}

/// Starts a server on a free port; returns it and its first lines.
fn serve() -> (Child, String, u16) {
    let mut child = kv(&["--listen", "127.0.0.1:0", "--workers", "2"]).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("Ctrl-C") {
        assert!(reader.read_line(&mut lines).unwrap() > 0, "{lines}");
    }
    let port = lines.split("redis-cli -p ").nth(1).and_then(|rest| rest.split(' ').next());
    let port = port.unwrap().parse().unwrap();
    child.stdout = Some(reader.into_inner());
    (child, lines, port)
}

#[test]
fn help_and_version_are_printed() {
    let (status, out, _) = output(&["--help"]);
    assert!(status.status.success());
    for option in [
        "--listen",
        "--workers",
        "--scheduler",
        "--shards",
        "--node",
        "--dir",
        "--max-memory",
        "--demo",
    ] {
        assert!(out.contains(option), "{option}");
    }
    let (status, out, _) = output(&["--version"]);
    assert!(status.status.success() && out.starts_with("kv "));
}

#[test]
fn mistakes_are_explained() {
    for (arguments, text) in [
        (&["--nope"][..], "--nope"),
        (&["--workers", "0"], "above zero"),
        (&["--scheduler", "fast"], "auto, locked, lock_free, per_core, stealing"),
        (&["--max-memory", "many"], "256mb"),
        (&["--listen", "nowhere"], "127.0.0.1:6379"),
        (&["--shards", "5000"], "1 to 1024"),
    ] {
        let (status, _, err) = output(arguments);
        assert_eq!(status.status.code(), Some(2), "{arguments:?}");
        assert!(err.contains(text) && err.contains("kv --help"), "{arguments:?}: {err}");
    }
}

#[test]
fn a_taken_port_is_named_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, _, err) = output(&["--listen", &address]);
    assert_eq!(status.status.code(), Some(1));
    assert!(err.contains(&address) && err.contains("kv --listen 127.0.0.1:"), "{err}");
}

#[test]
fn a_signal_ends_it_with_clients_connected() {
    for signal in ["-TERM", "-INT"] {
        let (mut child, lines, port) = serve();
        assert!(lines.contains("set greeting hello"), "{lines}");
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert!(child.wait().unwrap().success());
        assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    }
}

#[test]
fn the_demo_prints_figures_and_ends_well() {
    let (status, out, err) = output(&["--demo", "--workers", "2"]);
    assert!(status.status.success(), "{out}{err}");
    for figure in ["requests/s", "p50 ", "p90 ", "p99 ", "p99.9 ", "p99.99 ", "0 errors"] {
        assert!(out.contains(figure), "{figure}: {out}");
    }
}
