//! The cases on a device of the machine's, and what only a real one can show.
//!
//! They are ignored unless asked for. [`on_a_device`] asks for all of them: here if the machine has a device, in
//! the guest otherwise.

#[path = "../../by_pairs/mod.rs"]
mod by_pairs;
mod carrier;
#[path = "../../desk/mod.rs"]
mod desk;
mod doctor;
mod guests;
mod locked;
mod nodes;
mod oracle;
mod processes;
mod pulled;

use crate::cases;
use crate::ends::{Bench, Done, End, connect, done, received};
use greenroom_transports::rdma::ib::{IbDevice, IbVerbs, best_gid};
use greenroom_transports::rdma::verbs::{
    Device, DeviceEvent, OpenError, Outcome, PostError, QueuePair, Timing, Verbs, Via,
};
use std::future::poll_fn;
use std::process::Command;
use std::task::Poll;
use std::time::{Duration, Instant};

/// What one case may take, in an emulator on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

struct Real {
    name: String,
    gid_index: u8,
    began: Instant,
}

impl Real {
    /// The first device, by the best of its addresses.
    fn new() -> Self {
        let devices = IbVerbs.devices().expect("libibverbs is there");
        let name = devices.first().expect("there is a device").name.clone();
        let gid_index = best_gid(&name, 1).expect("an address").index;
        Self { name, gid_index, began: Instant::now() }
    }

    fn open(&self) -> Result<IbDevice, OpenError> {
        IbVerbs.open(&self.name, 1, self.gid_index)
    }
}

impl Bench for Real {
    type Device = IbDevice;

    fn device(&self) -> IbDevice {
        self.open().expect("the device opens")
    }

    async fn pass(&self) {
        assert!(self.began.elapsed() < LIMIT, "it takes too long");
        tokio::task::yield_now().await;
    }
}

fn on_the_device(case: impl AsyncFnOnce(&Real)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(case(&Real::new()));
}

fn is_guest() -> bool {
    std::env::var_os("GREENROOM_GUEST").is_some()
}

/// Runs the ignored tests of this program where there is a device; those of whole nodes take longer.
#[test]
fn on_a_device() {
    let nodes = ["device::guests", "device::nodes", "device::oracle", "device::pulled"];
    let others = ["processes::child"].into_iter().chain(nodes);
    let others: Vec<_> = others.map(|part| format!("--skip={part}")).collect();
    run_on_a_device(1200, &others.iter().map(String::as_str).collect::<Vec<_>>());
    run_on_a_device(1000, &["device::nodes", "device::pulled"]);
    run_on_a_device(900 * oracle::asks().div_ceil(oracle::ASKS), &["device::oracle"]);
}

fn run_on_a_device(limit_seconds: u64, which: &[&str]) {
    let program = std::env::current_exe().expect("the test's own program");
    let has_device = IbVerbs.devices().is_ok_and(|devices| !devices.is_empty());
    let mut command = if has_device {
        Command::new(&program)
    } else {
        let mut guest = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/guest"));
        guest.args(["-t", &limit_seconds.to_string()]);
        // Each test has a number of its own, unless somebody says how many.
        if let Ok(asks) = std::env::var("GREENROOM_ASKS") {
            guest.args(["-e", &format!("GREENROOM_ASKS={asks}")]);
        }
        guest.args(locked::COMMAND.map(|command| ["-a", command]).into_iter().flatten());
        guest.arg(&program);
        guest
    };
    command.args(["--ignored", "--test-threads=1"]).args(which);
    let status = command.status().expect("the guest's script is there");
    assert!(status.success(), "{command:?}: {status}");
}

macro_rules! cases {
    ($($name:ident)*) => { $(
        #[test]
        #[ignore = "needs an RDMA device"]
        fn $name() {
            on_the_device(async |bench| cases::$name(bench).await);
        }
    )* };
}
cases! {
    a_peer_that_is_not_ready_is_told
    completions_are_of_one_queue
    datagrams_come_with_their_sender
    failing_gives_everything_back
    inline_bytes_are_copied
    misuse_is_refused
    nobody_may_reach_in
    parts_end_in_any_order
    queue_pairs_are_connected_apart
    receives_are_shared
    waiting_ends_with_a_completion
    what_is_too_long_fails_both_ends
    who_is_drained_says_so_last
}

#[test]
#[ignore = "needs an RDMA device"]
fn messages_come_in_order() {
    on_the_device(async |bench| {
        cases::messages_come_in_order(bench, &[0, 1, 64, 9_000], 2_000).await;
        cases::messages_come_in_order(bench, &[4 << 20, 3], 6).await;
    });
}

/// Devices say how long a message may be; no more is tried.
#[test]
#[ignore = "needs an RDMA device"]
fn a_message_beyond_the_devices_longest_is_refused() {
    on_the_device(async |bench| {
        let device = bench.device();
        let completions = device.completion_queue(8).expect("a completion queue");
        let config = crate::ends::CONFIG;
        let mut one = device.connected(&completions, None, &config).expect("a queue pair");
        let mut two = device.connected(&completions, None, &config).expect("a queue pair");
        connect(&mut one, &two.endpoint(), &Timing::default());
        connect(&mut two, &one.endpoint(), &Timing::default());
        let slot = device.register(1, 16 << 20).expect("memory").remove(0);
        let refused = one.push_send(slot, 0..16 << 20, Via::Connection, true);
        // Soft-RoCE takes 8 MiB; others take 1 GiB and more.
        assert!(!is_guest() || matches!(refused, Err(PostError::TooLong(_))), "{refused:?}");
    });
}

/// A device gives no key to memory that nobody may reach.
// [RDMA-2]
#[test]
#[ignore = "needs an RDMA device"]
fn memory_has_no_key_for_others() {
    on_the_device(async |bench| {
        let slots = bench.device().register(3, 100).expect("memory");
        // Hardware has one key for both; Soft-RoCE says what it was asked for.
        assert!(!is_guest() || slots.iter().all(|slot| slot.remote_key() == 0));
        assert!(slots.iter().all(|slot| slot.as_ref() == [0; 100]));
    });
}

#[test]
#[ignore = "needs an RDMA device"]
fn what_is_not_there_is_named() {
    let real = Real::new();
    assert!(
        matches!(IbVerbs.open("none0", 1, 0), Err(OpenError::NoDevice(name)) if name == "none0")
    );
    for port in [0, 200] {
        assert!(matches!(IbVerbs.open(&real.name, port, 0), Err(OpenError::NoPort(_))));
    }
    assert!(matches!(IbVerbs.open(&real.name, 1, 255), Err(OpenError::NoGid(255))));
}

/// The device's link is down until this is dropped, whatever becomes of the test.
struct LinkDown(());

impl LinkDown {
    fn new() -> Self {
        assert!(link("down"));
        Self(())
    }
}

impl Drop for LinkDown {
    fn drop(&mut self) {
        let is_up = link("up");
        assert!(is_up || std::thread::panicking());
    }
}

fn link(state: &str) -> bool {
    let status = Command::new("ip").args(["link", "set", "roce0", state]).status();
    status.expect("ip is there").success()
}

async fn event(real: &Real, device: &mut IbDevice, wanted: DeviceEvent) {
    loop {
        let event = poll_fn(|context| Poll::Ready(device.poll_event(context))).await;
        if matches!(event, Poll::Ready(Ok(event)) if event == wanted) {
            return;
        }
        real.pass().await;
    }
}

/// A link that goes down and up is told of, and serves again.
#[test]
#[ignore = "needs an RDMA device"]
fn a_link_goes_down_and_up() {
    if !is_guest() {
        // Nobody takes down a link that others use.
        return;
    }
    on_the_device(async |real| {
        let (mut left, mut right) = crate::ends::connected(real, 64, &Timing::default());
        let early = poll_fn(|context| Poll::Ready(left.device.poll_event(context))).await;
        assert!(early.is_pending(), "{early:?}");
        let down = LinkDown::new();
        event(real, &mut left.device, DeviceEvent::PortDown).await;
        assert!(!left.device.port().expect("the device is there").is_up);
        assert!(matches!(real.open(), Err(OpenError::PortDown(1) | OpenError::NoGid(_))));
        drop(down);
        event(real, &mut left.device, DeviceEvent::PortUp).await;
        while real.open().is_err() {
            // The address comes back a little later than the link.
            real.pass().await;
        }
        right.receive(1);
        left.send(b"again", true);
        assert_eq!(done(real, &mut right, 1).await, [received(b"again")]);
        assert_eq!(done(real, &mut left, 1).await, [Done::Sent(Outcome::Done)]);
    });
}

/// How many devices this process has open.
fn devices_open() -> usize {
    let all = std::fs::read_dir("/proc/self/fd").expect("it is there");
    let names = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    names.filter(|name| name.to_string_lossy().contains("uverbs")).count()
}

fn look_for_neighbours(whether: &str) {
    let status = Command::new("ip").args(["link", "set", "roce0", "arp", whether]).status();
    assert!(status.expect("ip is there").success());
}

/// The system looks for its peer, and keeps the device open until it is done.
// [RDMA-9] [RDMA-51]
#[test]
#[ignore = "needs an RDMA device"]
fn nobody_waits_for_what_is_dropped_while_it_is_connected() {
    if !is_guest() {
        // Nobody changes a link that others use.
        return;
    }
    look_for_neighbours("on");
    on_the_device(async |real| {
        let before = devices_open();
        let mut is_connecting = false;
        // The first time, unless the machine stood still for all of a second.
        for _ in 0..20 {
            let End { device, completions, pair, free, .. } = End::new(real.device(), 64, None);
            let mut nowhere = pair.endpoint();
            nowhere.gid[15] = 77;
            let apart = device.connect_apart(pair, &nowhere, &Timing::default());
            drop((device, completions, free));
            drop(apart);
            is_connecting = devices_open() > before;
            while devices_open() > before {
                real.pass().await;
            }
            if is_connecting {
                break;
            }
        }
        assert!(is_connecting, "each time it was waited for");
    });
    look_for_neighbours("off");
}

/// A device of a process that has ended is nobody's: its memory and queues went with it.
#[test]
#[ignore = "needs an RDMA device"]
fn devices_open_again_and_again() {
    on_the_device(async |bench| {
        for _ in 0..50 {
            let mut end = End::new(bench.device(), 4096, None);
            end.receive(16);
        }
    });
}
