//! Looks at the machine's RDMA devices: what keeps them from being used, or used well, and how it is mended.
//!
//! It looks as a program would use them: it opens ports, registers memory, lets two queue pairs of each port talk to each
//! other, and makes what a node makes.

use super::Rdma;
use super::carrier::CONFIG;
use super::connected::lending::{LENT_MAX, RESERVE};
use super::connected::shared::SLAB;
use super::connected::{Config, Connected};
use super::ib::{self, IbDevice, IbVerbs};
use super::pick::ports;
use super::verbs::{
    Completion, CompletionQueue, Device, DeviceInfo, Direction, LinkLayer, OpenError, Outcome,
    QueuePair, QueuePairConfig, Receives, RegisterError, Timing, Verbs, Via, told,
};
use std::num::{NonZeroU8, NonZeroU16};
use std::time::{Duration, Instant};

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// It works, and could be better.
    Slow,
    /// It must be mended.
    Bad,
}

/// What was found out about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it is.
    pub state: State,
    /// What it is about.
    pub what: &'static str,
    /// What was seen.
    pub seen: String,
    /// How it is mended; empty if there is nothing to mend.
    pub mend: String,
}

fn good(what: &'static str, seen: String) -> Finding {
    Finding { state: State::Good, what, seen, mend: String::new() }
}

fn slow(what: &'static str, seen: String, mend: impl Into<String>) -> Finding {
    Finding { state: State::Slow, what, seen, mend: mend.into() }
}

fn bad(what: &'static str, seen: String, mend: impl Into<String>) -> Finding {
    Finding { state: State::Bad, what, seen, mend: mend.into() }
}

/// Looks at the devices and ports that a node is told to use, or at all; for as many connections as it may have. Takes a moment
/// for each, and locks 64 MiB of memory meanwhile, or as much as the limit says where that binds nobody.
#[must_use]
pub fn look(wanted: &Rdma) -> Vec<Finding> {
    let devices = match IbVerbs.devices() {
        Ok(devices) => devices,
        Err(
            ref error @ (OpenError::NoLibrary { package, .. }
            | OpenError::OldLibrary { package, .. }),
        ) => {
            return vec![bad(
                "RDMA library",
                error.to_string(),
                format!("apt-get install {package}"),
            )];
        }
        Err(error) => {
            return vec![bad("RDMA library", told(&error), "see that ib_uverbs is loaded")];
        }
    };
    match chosen(&devices, wanted) {
        Ok(devices) => devices.flat_map(|device| look_at(&device.name, wanted)).collect(),
        Err(finding) => vec![finding],
    }
}

/// The devices to look at.
fn chosen<'a>(
    devices: &'a [DeviceInfo],
    wanted: &'a Rdma,
) -> Result<impl Iterator<Item = &'a DeviceInfo>, Finding> {
    const WHAT: &str = "RDMA devices";
    if devices.is_empty() {
        let mend = "load the driver of the hardware, and install ibverbs-providers; without hardware, \
                    modprobe rdma_rxe and rdma link add rxe0 type rxe netdev eth0";
        return Err(bad(WHAT, "there is none".to_owned(), mend));
    }
    let is_wanted =
        |device: &&DeviceInfo| wanted.device.as_ref().is_none_or(|name| *name == device.name);
    if let Some(name) = &wanted.device
        && !devices.iter().any(|device| is_wanted(&device))
    {
        let names: Vec<_> = devices.iter().map(|device| &*device.name).collect();
        let seen = format!("there is no {name}, but {}", names.join(", "));
        return Err(bad(WHAT, seen, "name one that is there, or auto for the first that serves"));
    }
    Ok(devices.iter().filter(is_wanted))
}

fn look_at(name: &str, wanted: &Rdma) -> Vec<Finding> {
    let best = |port| ib::best_gid(name, port).map_or(0, |gid| gid.index);
    let index = |port| wanted.gid.unwrap_or_else(|| best(port));
    let config = config(wanted);
    ports(&IbVerbs, name, wanted.port.map(NonZeroU8::get), |_, port| index(port))
        .flat_map(|(port, opened)| {
            let at = format!("{name}, port {port}");
            let gid = ib::gids(name, port).into_iter().find(|gid| gid.index == index(port));
            match opened {
                Ok(device) => look_at_port(device, config, &at, gid),
                Err(error) => vec![closed(&at, &error)],
            }
        })
        .collect()
}

/// What a node makes that is told so.
fn config(wanted: &Rdma) -> Config {
    let connections_max = wanted.connections_max.map_or(CONFIG.connections_max, NonZeroU16::get);
    Config { connections_max, ..CONFIG }
}

fn look_at_port(device: IbDevice, config: Config, at: &str, gid: Option<ib::Gid>) -> Vec<Finding> {
    let mut findings = Vec::from_iter(gid.map(|gid| address(&device, at, &gid)));
    let memory = memory(&device, &config, ib::lockable_bytes(), at);
    findings.extend([mtu(&device, at), memory, talks(&device, at)]);
    findings.push(serves(device, config, at));
    findings
}

fn closed(at: &str, error: &OpenError) -> Finding {
    let mend = match error {
        OpenError::PortDown(_) => "take the link up: ip link set DEVICE up, or plug in its cable",
        OpenError::NoGid(_) => "give the network device an address, and take it up",
        OpenError::NoPort(_) => "name a port that the device has, or none for the first that is up",
        OpenError::NotPermitted => "let this user read and write /dev/infiniband/uverbs*",
        OpenError::Iwarp => {
            "take a device for RoCE or InfiniBand; the drivers of some can be told to be for RoCE"
        }
        _ => "see what the kernel says: dmesg",
    };
    bad("RDMA port", format!("{at}: {}", told(error)), mend)
}

fn address(device: &IbDevice, at: &str, gid: &ib::Gid) -> Finding {
    let seen = format!("{at}: GID {} at index {}, {}", gid.address, gid.index, gid.kind);
    let is_ethernet = device.port().is_ok_and(|port| port.layer == LinkLayer::Ethernet);
    if is_ethernet && !gid.is_routable() {
        let mend =
            "routers do not take RoCE v1: give the network device an IP address for a GID of v2";
        return slow("RDMA address", seen, mend);
    }
    good("RDMA address", seen)
}

fn mtu(device: &IbDevice, at: &str) -> Finding {
    match device.port() {
        Ok(port) if port.mtu_bytes >= MTU_BEST => {
            good("RDMA MTU", format!("{at}: {} bytes", port.mtu_bytes))
        }
        Ok(port) => slow(
            "RDMA MTU",
            format!("{at}: {} bytes", port.mtu_bytes),
            "packets of 4096 bytes need a link of 4200 on both ends and between: ip link set DEVICE mtu 4200",
        ),
        Err(error) => bad("RDMA MTU", format!("{at}: {error}"), "see what the kernel says: dmesg"),
    }
}

const MTU_BEST: u16 = 4096;
/// So much is locked to see whether that can be done, where no limit is known to be in the way.
const MEMORY_BYTES: u64 = 64 << 20;
/// And no more than this to see whether a limit is.
const TRIED_MAX: u64 = 1 << 30;
const LOCK_MORE: &str = "let the service lock memory: LimitMEMLOCK=infinity in its unit, ulimit -l unlimited in a shell";

/// Whether there is memory for the packets of all connections; `limit` is what this user may lock, if that binds it.
fn memory<D: Device>(device: &D, config: &Config, limit: Option<u64>, at: &str) -> Finding {
    let slots = config.receives as usize + config.sends as usize;
    let slots = slots * usize::from(config.connections_max) + LENT_MAX + RESERVE + SLAB;
    let wanted = (slots * config.slot_bytes) as u64;
    let takes = format!(
        "{} connections that are all busy, and what actors may keep, take {} MiB",
        config.connections_max,
        wanted.div_ceil(1 << 20)
    );
    // Some may lock more than the limit says.
    let beyond = limit.filter(|&limit| limit < wanted).map(|limit| limit + 1);
    let most = TRIED_MAX.min(device.limits().memory_bytes);
    let bytes = beyond.unwrap_or(wanted.min(MEMORY_BYTES)).min(most);
    match device.register(1, usize::try_from(bytes).unwrap_or(usize::MAX)) {
        Ok(_) if beyond.is_some_and(|beyond| beyond > bytes) => slow(
            "RDMA memory",
            format!(
                "{at}: the limit may be in the way, {} MiB were locked, and {takes}",
                bytes >> 20
            ),
            LOCK_MORE,
        ),
        Ok(_) => good("RDMA memory", format!("{at}: it can be locked; {takes}")),
        Err(RegisterError::Locked { limit, .. }) => slow(
            "RDMA memory",
            format!("{at}: {limit} bytes can be locked, and {takes}"),
            LOCK_MORE,
        ),
        Err(error) => bad("RDMA memory", format!("{at}: {}", told(&error)), LOCK_MORE),
    }
}

/// Makes what a node makes, as large as it does.
fn serves<D: Device>(device: D, config: Config, at: &str) -> Finding {
    let wanted = config.connections_max;
    let made = Connected::new(device, config).and_then(|mut connected| {
        connected.open(1)?;
        Ok(connected.connections_max())
    });
    match made {
        Ok(max) if max < wanted => slow(
            "RDMA queues",
            format!("{at}: there is room for {max} connections of {wanted}"),
            "links beyond stay with UDP: take a device with longer completion queues",
        ),
        Ok(max) => good("RDMA queues", format!("{at}: there is room for {max} connections")),
        Err(error) => {
            let mend = if error.is_short() {
                LOCK_MORE
            } else {
                "see what other programs use of the device, or take another one"
            };
            let seen = format!("{at}: a node goes by UDP here: {}", told(&error));
            bad("RDMA queues", seen, mend)
        }
    }
}

/// Lets two queue pairs talk.
fn talks(device: &IbDevice, at: &str) -> Finding {
    match talk(device) {
        Ok(Talk { micros, inline_bytes }) => good(
            "RDMA loopback",
            format!("{at}: 64 bytes there and back in {micros} us; {inline_bytes} bytes go inline"),
        ),
        Err(why) => bad(
            "RDMA loopback",
            format!("{at}: {why}"),
            "see that the link is up, that a firewall lets UDP port 4791 pass, and what dmesg says",
        ),
    }
}

struct Talk {
    micros: u128,
    inline_bytes: usize,
}

const ROUNDS: u32 = 100;
const ROUND_MAX: Duration = Duration::from_secs(3);
const TEXT: [u8; 64] = [0x5a; 64];

fn talk<D: Device>(device: &D) -> Result<Talk, String> {
    let ends = [0, 1].map(|owner| End::new(device, owner));
    let [mut left, mut right] = match ends {
        [Ok(left), Ok(right)] => [left, right],
        [Err(why), _] | [_, Err(why)] => return Err(why),
    };
    let [here, there] = [left.pair.endpoint(), right.pair.endpoint()];
    let timing = Timing { timeout: 14, ..Timing::default() };
    left.pair.connect(&there, &timing).map_err(|error| told(&error))?;
    right.pair.connect(&here, &timing).map_err(|error| told(&error))?;
    let began = Instant::now();
    for _ in 0..ROUNDS {
        left.send()?;
        right.receive()?;
        right.send()?;
        left.receive()?;
    }
    let micros = began.elapsed().as_micros() / u128::from(ROUNDS);
    Ok(Talk { micros, inline_bytes: left.pair.inline_bytes_max() })
}

struct End<D: Device> {
    completions: D::CompletionQueue,
    pair: D::QueuePair,
    free: Vec<D::Slot>,
}

impl<D: Device> End<D> {
    fn new(device: &D, owner: u16) -> Result<Self, String> {
        let config = QueuePairConfig {
            sends_max: 4,
            receives_max: 4,
            inline_bytes: 220,
            owner,
            psn: u32::from(owner) + 1,
        };
        let completions = device.completion_queue(16).map_err(|error| told(&error))?;
        let pair = device.connected(&completions, None, &config).map_err(|error| told(&error))?;
        let free = device.register(4, TEXT.len()).map_err(|error| told(&error))?;
        let mut end = Self { completions, pair, free };
        end.post()?;
        Ok(end)
    }

    fn post(&mut self) -> Result<(), String> {
        let slot = self.free.pop().ok_or("a slot is missing")?;
        self.pair.push_receive(slot).map_err(|error| error.to_string())?;
        self.pair.ring_receives().map_err(|error| error.to_string())
    }

    fn send(&mut self) -> Result<(), String> {
        let mut slot = self.free.pop().ok_or("a slot is missing")?;
        slot.as_mut()[..TEXT.len()].copy_from_slice(&TEXT);
        let pushed = self.pair.push_send(slot, 0..TEXT.len(), Via::Connection, true);
        pushed.map_err(|error| error.to_string())?;
        self.pair.ring_sends().map_err(|error| error.to_string())
    }

    /// Polls until a text came, and posts for the next.
    fn receive(&mut self) -> Result<(), String> {
        let began = Instant::now();
        let mut one = [Completion::default()];
        while began.elapsed() < ROUND_MAX {
            if self.completions.poll(&mut one).map_err(|error| error.to_string())? == 0 {
                std::thread::yield_now();
                continue;
            }
            let [completion] = &one;
            if completion.outcome != Outcome::Done {
                return Err(format!(
                    "a message was not sent or received: {:?}",
                    completion.outcome
                ));
            }
            if completion.work.direction() == Direction::Send {
                self.pair.sent(completion, |slot| self.free.push(slot));
                continue;
            }
            let slot = self.pair.received(completion).ok_or("a slot is missing")?;
            let is_whole = slot.as_ref()[..TEXT.len()] == TEXT;
            self.free.push(slot);
            self.post()?;
            return if is_whole { Ok(()) } else { Err("a message came as another one".to_owned()) };
        }
        Err(format!("no message came within {ROUND_MAX:?}"))
    }
}

#[cfg(test)]
mod tests;
