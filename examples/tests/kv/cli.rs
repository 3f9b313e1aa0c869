//! The program `kv`: what it prints, and how it ends.

use crate::kv_support::{connect, ended, said_until, signal};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

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
fn serve(more: &[&str]) -> (Child, String, u16) {
    let arguments = [&["--listen", "127.0.0.1:0", "--workers", "2"], more].concat();
    let mut child = kv(&arguments).spawn().unwrap();
    let lines = said_until(&mut child, "Ctrl-C");
    let port = lines.split("redis-cli -p ").nth(1).and_then(|rest| rest.split(' ').next());
    let port = port.unwrap().parse().unwrap();
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
        (
            &["--workers", "0"],
            "--workers: cannot parse argument \"0\": it must be a number above zero",
        ),
        (&["--scheduler", "fast"], "auto, locked, lock_free, per_core, stealing"),
        (&["--max-memory", "many"], "256mb"),
        (&["--listen", "nowhere"], "127.0.0.1:6379"),
        (&["--shards", "5000"], "1 to 1024"),
        (&["--timeout", "soon"], "it must be a number of seconds"),
        (
            &["--demo", "--dir", "data"],
            "--demo writes keys of its own: it is not for --dir or --node",
        ),
        (
            &["--node", "a.toml", "--demo"],
            "--demo writes keys of its own: it is not for --dir or --node",
        ),
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
    for name in ["-TERM", "-INT"] {
        let (mut child, lines, port) = serve(&[]);
        assert!(lines.contains("set greeting hello"), "{lines}");
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        signal(&child, name);
        assert!(ended(&mut child).success());
        assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    }
}

#[test]
fn as_many_clients_as_can_be_said_are_no_mistake() {
    let (mut child, ..) = serve(&["--max-clients", &usize::MAX.to_string()]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn it_ends_in_order_when_nobody_reads_what_it_says() {
    let (mut child, _, port) = serve(&[]);
    drop((child.stdout.take(), child.stderr.take()));
    let mut client = connect(([127, 0, 0, 1], port).into());
    client.write_all(b"PING\r\n").unwrap();
    client.read_exact(&mut [0; 7]).unwrap();
    signal(&child, "-TERM");
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    assert!(ended(&mut child).success());
}

/// The most memory that a process has had, in MiB.
#[cfg(target_os = "linux")]
fn peak_mib(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    kib.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn what_transactions_need_is_said_at_the_start() {
    for (shards, is_said) in [("2", true), ("1", false)] {
        let (mut child, lines, _) = serve(&["--shards", shards]);
        assert_eq!(
            lines.contains("with the same {tag}, or all with --shards 1."),
            is_said,
            "{lines}"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_stays_bounded_whatever_clients_do() {
    const VALUE_BYTES: usize = 1 << 20;
    let (mut child, _, port) = serve(&["--max-memory", "16mb"]);
    let connect = || connect(([127, 0, 0, 1], port).into());
    let set = |client: &mut TcpStream, key: usize| {
        let key = format!("key{key:03}");
        write!(client, "*3\r\n$3\r\nSET\r\n$6\r\n{key}\r\n${VALUE_BYTES}\r\n").unwrap();
        client.write_all(&vec![b'x'; VALUE_BYTES]).unwrap();
        client.write_all(b"\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(client).read_line(&mut line).unwrap();
        line
    };
    let mut client = connect();
    let stored = (0..100).take_while(|key| set(&mut client, *key) == "+OK\r\n").count();
    assert!((14..=16).contains(&stored), "{stored}");
    let refused = set(&mut client, stored);
    assert!(refused.starts_with("-OOM command not allowed"), "{refused}");
    // Who asks for a hundred times as much as there is memory for, and reads none of it, is no longer read from.
    let flood = b"*2\r\n$3\r\nGET\r\n$6\r\nkey000\r\n".repeat(100);
    let deaf: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut deaf = connect();
            deaf.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
            while deaf.write_all(&flood).is_ok() {}
            deaf
        })
        .collect();
    assert!(set(&mut client, stored).starts_with("-OOM"), "others are answered");
    let peak = peak_mib(&child);
    assert!(peak < 128, "{peak} MiB");
    drop(deaf);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_demo_prints_figures_and_ends_well() {
    let (status, out, err) = output(&["--demo", "--workers", "2"]);
    assert!(status.status.success(), "{out}{err}");
    for figure in ["requests/s", "p50 ", "p90 ", "p99 ", "p99.9 ", "p99.99 ", "0 errors"] {
        assert!(out.contains(figure), "{figure}: {out}");
    }
}
