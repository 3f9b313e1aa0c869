//! Two processes over one device; one is killed.

use super::{Real, is_guest, locked, on_the_device};
use crate::cases::text;
use crate::ends::{Bench, CONFIG, Done, End, HASTY, connect, received};
use greenroom_transports::rdma::ib::{IbDevice, IbVerbs};
use greenroom_transports::rdma::verbs::{
    Endpoint, OpenError, Outcome, QueuePair, QueuePairState, Timing, Verbs,
};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// What a child is to do.
const ROLE: &str = "GREENROOM_CHILD";

/// Has what runs this program be a child.
pub(super) fn as_child<'c>(command: &'c mut Command, role: &str) -> &'c mut Command {
    let only = ["--exact", "device::processes::child", "--ignored", "--nocapture"];
    command.args(only).env(ROLE, role)
}

fn child_process(role: &str) -> Child {
    as_child(&mut Command::new(std::env::current_exe().expect("the test's own program")), role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child")
}

pub(super) fn endpoint_line(endpoint: &Endpoint) -> String {
    let gid: String = endpoint.gid.iter().map(|byte| format!("{byte:02x}")).collect();
    let Endpoint { lid, qpn, psn, qkey, mtu_bytes, .. } = endpoint;
    format!("endpoint {gid} {lid} {qpn} {psn} {qkey} {mtu_bytes}\n")
}

fn write_endpoint(endpoint: &Endpoint, into: &mut impl Write) {
    // One write, so that the line is there or not.
    let line = format!("\n{}", endpoint_line(endpoint));
    into.write_all(line.as_bytes()).expect("the other listens");
}

pub(super) fn read_endpoint(from: impl BufRead) -> Endpoint {
    let mut lines = from.lines().map(|line| line.expect("text"));
    let line = lines.find(|line| line.starts_with("endpoint ")).expect("an endpoint is said");
    let words: Vec<_> = line.split(' ').skip(1).collect();
    let number = |at: usize| words[at].parse::<u32>().expect("a number");
    let mut gid = [0; 16];
    for (at, byte) in gid.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&words[0][2 * at..2 * at + 2], 16).expect("two digits");
    }
    let (lid, qpn, psn, qkey) = (number(1) as u16, number(2), number(3), number(4));
    Endpoint { gid, lid, qpn, psn, qkey, mtu_bytes: number(5) as u16 }
}

/// Starts a child that answers what it gets, and connects to it.
fn with_child(real: &Real, timing: &Timing) -> (Child, End<IbDevice>) {
    let mut child = child_process("echo");
    let mut end = End::new(real.device(), 4096, None);
    write_endpoint(&end.pair.endpoint(), child.stdin.as_mut().expect("it is piped"));
    let peer = read_endpoint(BufReader::new(child.stdout.as_mut().expect("it is piped")));
    connect(&mut end.pair, &peer, timing);
    (child, end)
}

/// What a child does: sends back what it receives, until it is killed or has nothing to read.
#[test]
#[ignore = "is started by other tests"]
fn child() {
    match std::env::var(ROLE).as_deref() {
        Ok("echo") => on_the_device(async |real| echo(real).await),
        Ok("alone") => {
            let Err(error) = IbVerbs.devices() else { panic!("the library is hidden") };
            assert!(matches!(error, OpenError::NoLibrary { .. }), "{error}");
            assert!(error.to_string().contains("libibverbs1"), "{error}");
        }
        Ok("poor") => locked::poor(),
        Ok("barred") => locked::barred(),
        role => panic!("there is no role {role:?}"),
    }
}

async fn echo(real: &Real) {
    let mut end = End::new(real.device(), 4096, None);
    end.receive(16);
    let peer = read_endpoint(std::io::stdin().lock());
    connect(&mut end.pair, &peer, &Timing::default());
    // Whoever hears of it may send at once.
    write_endpoint(&end.pair.endpoint(), &mut std::io::stdout());
    let mut came = 0;
    while came < ECHOES {
        for it in end.done() {
            if let Done::Received(Outcome::Done, text) = it {
                // First, since with what it gets the other sends the next, and no buffer here would be an error there.
                end.receive(1);
                end.send(&text, true);
                came += 1;
            }
        }
        real.pass().await;
    }
    while end.pair.sends_posted() > 0 {
        end.done();
        real.pass().await;
    }
}

const ECHOES: usize = 2_000;

/// Sends up to so many texts, no more than fit at once, and takes what comes back.
async fn echoes(real: &Real, end: &mut End<IbDevice>, count: usize) {
    let window = CONFIG.receives_max as usize;
    let (mut sent, mut came) = (0, 0);
    while came < count {
        while sent < count && sent - came < window && end.pair.sends_posted() < window {
            end.receive(1);
            end.send(&text(sent, sent % 4096), true);
            sent += 1;
        }
        for it in end.done() {
            match it {
                Done::Sent(outcome) => assert_eq!(outcome, Outcome::Done),
                it @ Done::Received(..) => {
                    assert_eq!(it, received(&text(came, came % 4096)));
                    came += 1;
                }
            }
        }
        real.pass().await;
    }
}

#[test]
#[ignore = "needs an RDMA device"]
fn two_processes_talk() {
    on_the_device(async |real| {
        let (mut child, mut end) = with_child(real, &Timing::default());
        echoes(real, &mut end, ECHOES).await;
        assert!(child.wait().expect("it is a child").success());
    });
}

/// Of a peer that was killed one is told, gets everything back, and talks to the next.
#[test]
#[ignore = "needs an RDMA device"]
fn a_process_is_killed() {
    on_the_device(async |real| {
        for round in 0..3 {
            let (mut child, mut end) = with_child(real, &HASTY);
            echoes(real, &mut end, 100 + round).await;
            child.kill().expect("it lives");
            child.wait().expect("it was killed");
            while end.pair.sends_posted() > 0 {
                end.done();
                real.pass().await;
            }
            end.receive(4);
            end.send(b"are you there?", true);
            let told = crate::ends::done(real, &mut end, 5).await;
            assert_eq!(told[0], Done::Sent(Outcome::Unanswered), "{told:?}");
            assert_eq!(end.free.len(), 48);
            assert_eq!(end.pair.state().expect("the device is there"), QueuePairState::Failed);
        }
    });
}

/// Without the library the error says what to install.
#[test]
#[ignore = "needs an RDMA device"]
fn without_the_library_the_package_is_named() {
    const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1";
    if !is_guest() {
        // Elsewhere the library is not ours to move.
        return;
    }
    let away = format!("{LIBRARY}.away");
    std::fs::rename(LIBRARY, &away).expect("it is there");
    let status = child_process("alone").wait();
    std::fs::rename(&away, LIBRARY).expect("it is there");
    assert!(status.expect("it is a child").success());
}
