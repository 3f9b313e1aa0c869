//! A user who may lock little memory, and one who may not open the device: what a program is told, what a node does, and what
//! the doctor says.

use super::nodes::Pair;
use super::processes::as_child;
use super::{Real, is_guest, on_the_device};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::rdma::doctor::{Finding, State, look};
use greenroom_transports::rdma::verbs::{Device, OpenError, RegisterError};
use greenroom_transports::station::{Carrier, Why};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The command `greenroom`, if it is built with this program.
pub(super) const COMMAND: Option<&str> = option_env!("CARGO_BIN_EXE_greenroom");

/// Any but root.
const USER: u32 = 1000;
/// What such a one may lock: many a system lets nobody have more.
const LOCKABLE: u64 = 64 << 10;
const WANTED: u64 = 1 << 20;

/// What a message has to name: the limit that was met, its name, and how it is raised.
fn names_the_limit(text: &str) {
    for part in [&*LOCKABLE.to_string(), "RLIMIT_MEMLOCK", "ulimit -l", "LimitMEMLOCK="] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// What a user does who may lock little.
pub(super) fn poor() {
    on_the_device(async |real| {
        let device = real.open().expect("whoever may lock little opens it all the same");
        let refused = device.register(1, WANTED as usize).err();
        let Some(error @ RegisterError::Locked { wanted: WANTED, limit: LOCKABLE }) = refused
        else {
            panic!("{refused:?}")
        };
        names_the_limit(&error.to_string());
        assert!(error.to_string().contains(&WANTED.to_string()), "{error}");
        assert!(device.register(1, LOCKABLE as usize / 2).is_ok(), "less than the limit");
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(by_udp());
    let findings = look(&Rdma::auto());
    let about = |what| findings.iter().find(|finding| finding.what == what).expect(what);
    let memory = about("RDMA memory");
    assert_eq!(memory.state, State::Slow);
    let queues = about("RDMA queues");
    assert_eq!(queues.state, State::Bad);
    for Finding { seen, mend, .. } in [memory, queues] {
        assert!(seen.contains(&LOCKABLE.to_string()), "{seen}");
        assert!(mend.contains("ulimit -l") && mend.contains("LimitMEMLOCK="), "{mend}");
    }
    the_command_says([&memory.seen, &memory.mend, &queues.seen, &queues.mend]);
}

/// What one does who may not open the device.
pub(super) fn barred() {
    let opened = Real::new().open();
    assert!(matches!(opened, Err(OpenError::NotPermitted)), "{opened:?}");
    let findings = look(&Rdma::auto());
    let [Finding { state: State::Bad, what: "RDMA port", seen, mend }] = &findings[..] else {
        panic!("{findings:#?}")
    };
    assert!(mend.contains("/dev/infiniband/uverbs"), "{mend}");
    the_command_says([seen, mend]);
}

fn the_command_says<const COUNT: usize>(parts: [&String; COUNT]) {
    let Some(command) = COMMAND else { return };
    let doctor = Command::new(command).args(["doctor", "--rdma"]).output().expect("it is carried");
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(parts.iter().all(|part| said.contains(*part)), "{parts:?}: {said}");
    assert!(!doctor.status.success(), "{said}");
}

/// Nodes without the memory for a queue pair go by UDP, and say why.
async fn by_udp() {
    let pair = Pair::new(false).await;
    let without = Some(Carrier::Udp(Why::NoMemory));
    let mut told = 0;
    // The one of the two that offers.
    pair.ask(&mut told, |_| pair.carriers().contains(&without)).await;
    let enough = told + 200;
    pair.ask(&mut told, |told| told >= enough).await;
    let changes = pair.changes();
    let mut all = changes.iter().flat_map(|(_, changes)| changes);
    assert!(all.clone().any(|change| Some(change.to) == without), "{changes:?}");
    assert!(all.all(|change| matches!(change.to, Carrier::Udp(_))), "{changes:?}");
    let failures = pair.failures();
    names_the_limit(failures.iter().flatten().next().expect("one of them says it"));
    pair.close().await;
}

/// Has a user play that role who is not root, and may lock no more than [`LOCKABLE`].
fn as_a_user(role: &str) {
    let mut shell = Command::new("/bin/sh");
    let limit = LOCKABLE >> 10;
    shell.args(["-euc", &format!("ulimit -l {limit}; exec \"$0\" \"$@\"")]);
    shell.arg(std::env::current_exe().expect("the test's own program"));
    // Without the rights of root, which are over limits, from its beginning.
    shell.uid(USER).gid(USER);
    let status = as_child(&mut shell, role).status().expect("a child");
    assert!(status.success(), "{status}");
}

// [RDMA-44] [RDMA-46]
#[test]
#[ignore = "needs an RDMA device"]
fn who_may_not_lock_memory_is_told_and_goes_by_udp() {
    // Elsewhere nobody becomes another user.
    if is_guest() {
        as_a_user("poor");
    }
}

#[test]
#[ignore = "needs an RDMA device"]
fn who_may_not_open_the_device_is_told() {
    if !is_guest() {
        // The file is that of others.
        return;
    }
    let allow = |mode| {
        let file = "/dev/infiniband/uverbs0";
        std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).expect("it is root's");
    };
    allow(0o600);
    as_a_user("barred");
    allow(0o666);
}
