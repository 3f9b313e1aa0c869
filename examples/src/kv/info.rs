//! The text of `INFO`.

use std::fmt::Write as _;

use greenroom::net::NodeId;

use super::clock::{now_ms, now_us};
use super::shared::Shared;
use super::stats::Cut;

/// The version of Redis whose commands and texts are answered.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

/// Numbers that only the shards know, added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers(Vec<u64>);

impl Numbers {
    /// Adds what one shard told: numbers separated by blanks.
    pub(crate) fn add(&mut self, told: &[u8]) {
        let text = std::str::from_utf8(told).unwrap_or("");
        for (index, number) in text.split_ascii_whitespace().enumerate() {
            if self.0.len() <= index {
                self.0.push(0);
            }
            self.0[index] += number.parse::<u64>().unwrap_or(0);
        }
    }

    fn used(&self) -> u64 {
        self.0.first().copied().unwrap_or(0)
    }

    fn expired(&self) -> u64 {
        self.0.get(1).copied().unwrap_or(0)
    }

    /// Returns how often a key was found, and not.
    fn looks(&self) -> (u64, u64) {
        let number = |index| self.0.get(index).copied().unwrap_or(0);
        (number(2), number(3))
    }

    /// Returns keys and volatile keys of each database.
    fn databases(&self) -> impl Iterator<Item = (u64, u64)> {
        let sizes = self.0.get(4..).unwrap_or_default();
        sizes.chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }
}

type Section = fn(&Shared, &Numbers, &mut String);

const SECTIONS: [(&str, Section); 10] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", cpu),
    ("Cluster", cluster),
    ("Nodes", nodes),
    ("Keyspace", keyspace),
];

/// Returns the sections asked for; all if none is named.
pub(crate) fn render(shared: &Shared, asked: &[Box<[u8]>], numbers: &Numbers) -> String {
    let every = asked.is_empty() || asked.iter().any(|name| is_every(name));
    let mut text = String::new();
    for (name, section) in SECTIONS {
        if every || asked.iter().any(|asked| asked.eq_ignore_ascii_case(name.as_bytes())) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            line(&mut text, format_args!("# {name}"));
            section(shared, numbers, &mut text);
        }
    }
    text
}

fn is_every(name: &[u8]) -> bool {
    [&b"default"[..], b"all", b"everything"].iter().any(|every| name.eq_ignore_ascii_case(every))
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{what}\r\n");
}

fn server(shared: &Shared, _: &Numbers, text: &mut String) {
    let up = (now_ms() - shared.started_ms).max(0) / 1000;
    line(text, format_args!("redis_version:{REDIS_VERSION}"));
    line(text, format_args!("server_name:greenroom-kv"));
    line(text, format_args!("server_version:{}", env!("CARGO_PKG_VERSION")));
    line(text, format_args!("redis_mode:standalone"));
    line(text, format_args!("os:{}", std::env::consts::OS));
    line(text, format_args!("arch_bits:{}", usize::BITS));
    line(text, format_args!("process_id:{}", std::process::id()));
    line(text, format_args!("run_id:{}", shared.run_id));
    line(text, format_args!("tcp_port:{}", shared.address.port()));
    line(text, format_args!("server_time_usec:{}", now_us()));
    line(text, format_args!("uptime_in_seconds:{up}"));
    line(text, format_args!("uptime_in_days:{}", up / 86_400));
    line(text, format_args!("workers:{}", shared.workers));
    line(text, format_args!("scheduler:{}", shared.scheduler));
    line(text, format_args!("shards:{}", shared.shards));
}

fn clients(shared: &Shared, _: &Numbers, text: &mut String) {
    line(text, format_args!("connected_clients:{}", shared.client_count()));
    line(text, format_args!("maxclients:{}", shared.limits.clients_max));
    line(text, format_args!("blocked_clients:0"));
}

fn memory(shared: &Shared, numbers: &Numbers, text: &mut String) {
    bytes(text, "used_memory", numbers.used());
    let rss = proc_bytes("/proc/self/status", "VmRSS:");
    if let Some(rss) = rss {
        bytes(text, "used_memory_rss", rss);
    }
    // What is used is that of all nodes, and these are of one process.
    if shared.layout.nodes().is_empty() {
        bytes(text, "used_memory_peak", shared.memory_peak.get().max(numbers.used()));
        if let Some(rss) = rss
            && numbers.used() > 0
        {
            // In hundredths, which is as exact as the sizes are.
            let ratio = u128::from(rss) * 100 / u128::from(numbers.used());
            line(text, format_args!("mem_fragmentation_ratio:{}.{:02}", ratio / 100, ratio % 100));
        }
    }
    line(text, format_args!("used_memory_dataset:{}", numbers.used()));
    line(text, format_args!("mem_clients_normal:{}", shared.budget.used()));
    if let Some(total) = proc_bytes("/proc/meminfo", "MemTotal:") {
        bytes(text, "total_system_memory", total);
    }
    bytes(text, "maxmemory", shared.memory_max.get());
    line(text, format_args!("maxmemory_policy:noeviction"));
}

/// Writes a number of bytes, once as it is and once for people.
fn bytes(text: &mut String, name: &str, bytes: u64) {
    line(text, format_args!("{name}:{bytes}"));
    line(text, format_args!("{name}_human:{}", human(bytes)));
}

/// Returns a number of bytes with a unit, as Redis writes it.
fn human(bytes: u64) -> String {
    let units = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    match units.iter().find(|(shift, _)| bytes >> shift > 0) {
        // Hundredths, rounded.
        Some((shift, unit)) => {
            let hundredths = (u128::from(bytes) * 100 + (1 << (shift - 1))) >> shift;
            format!("{}.{:02}{unit}", hundredths / 100, hundredths % 100)
        }
        None => format!("{bytes}B"),
    }
}

/// Returns an amount of memory, where the system tells.
fn proc_bytes(file: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(file).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// As Redis tells of its append-only file, which the journal stands for. A server that cannot write ends, so the last
/// write was always well.
fn persistence(shared: &Shared, _: &Numbers, text: &mut String) {
    let (enabled, kept) = (shared.dir.is_some(), &shared.kept);
    let base = kept.base_bytes.get();
    line(text, format_args!("loading:0"));
    line(text, format_args!("rdb_bgsave_in_progress:0"));
    line(text, format_args!("aof_enabled:{}", u8::from(enabled)));
    line(text, format_args!("aof_rewrite_in_progress:0"));
    line(text, format_args!("aof_rewrite_scheduled:0"));
    line(text, format_args!("aof_rewrites:{}", kept.rewrites.get()));
    line(text, format_args!("aof_last_write_status:ok"));
    if enabled {
        line(text, format_args!("aof_current_size:{}", base + kept.log_bytes.get()));
        line(text, format_args!("aof_base_size:{base}"));
    }
}

fn stats(shared: &Shared, numbers: &Numbers, text: &mut String) {
    let (stats, traffic) = (&shared.stats, shared.traffic());
    line(text, format_args!("total_connections_received:{}", stats.connections.get()));
    line(text, format_args!("total_commands_processed:{}", traffic.commands));
    line(text, format_args!("total_turns:{}", traffic.turns));
    line(text, format_args!("total_net_input_bytes:{}", traffic.bytes_in));
    line(text, format_args!("total_net_output_bytes:{}", traffic.bytes_out));
    line(text, format_args!("expired_keys:{}", numbers.expired()));
    line(text, format_args!("evicted_keys:0"));
    let (hits, misses) = numbers.looks();
    line(text, format_args!("keyspace_hits:{hits}"));
    line(text, format_args!("keyspace_misses:{misses}"));
    line(text, format_args!("pubsub_channels:{}", shared.channels.get()));
    line(text, format_args!("pubsub_patterns:{}", shared.patterns.get()));
    for (reason, name) in Cut::ALL {
        line(text, format_args!("{name}:{}", stats.cuts(reason)));
    }
}

/// Clients that look for a master find one.
fn replication(_: &Shared, _: &Numbers, text: &mut String) {
    line(text, format_args!("role:master"));
    line(text, format_args!("connected_slaves:0"));
}

fn cpu(_: &Shared, _: &Numbers, text: &mut String) {
    let Some([user, system]) = cpu_ticks() else { return };
    // Linux shows a hundred ticks a second to every process.
    line(text, format_args!("used_cpu_sys:{}.{:02}0000", system / 100, system % 100));
    line(text, format_args!("used_cpu_user:{}.{:02}0000", user / 100, user % 100));
}

/// Returns the time that the process has run, in user mode and in the system, where the system tells.
fn cpu_ticks() -> Option<[u64; 2]> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name before may have blanks and brackets in it. The state is the first field behind, user time the twelfth.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some([fields.next()?.parse().ok()?, fields.next()?.parse().ok()?])
}

fn cluster(_: &Shared, _: &Numbers, text: &mut String) {
    line(text, format_args!("cluster_enabled:0"));
}

/// A line for each node, as this one sees it. A server alone has none.
fn nodes(shared: &Shared, _: &Numbers, text: &mut String) {
    let nodes = shared.nodes.get();
    let lines = nodes.map(|nodes| nodes.show(NodeId(shared.node), shared.started_ms));
    for (number, node) in lines.iter().flatten().enumerate() {
        line(text, format_args!("node{number}:{node}"));
    }
}

fn keyspace(_: &Shared, numbers: &Numbers, text: &mut String) {
    for (db, (keys, volatile)) in numbers.databases().enumerate() {
        if keys > 0 {
            line(text, format_args!("db{db}:keys={keys},expires={volatile},avg_ttl=0"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Numbers, human, render};
    use crate::kv::tests::Server;

    #[test]
    fn bytes_are_shown_as_redis_does() {
        let shown = [0, 1023, 1024, 1_361_488, 7_188_480, 25_276_514_304].map(human);
        assert_eq!(shown, ["0B", "1023B", "1.00K", "1.30M", "6.86M", "23.54G"]);
    }

    #[test]
    fn what_is_read_is_found_or_missed() {
        let mut server = Server::new(1);
        let mut client = server.connect();
        // As redis-server 7.0 counts them: what writes does not look.
        server.say(
            &mut client,
            "GET a\nSET a 1\nGET a\nMGET a b\nEXISTS a b\nTTL a\nTYPE b\nGETEX a\nGETEX b",
        );
        server.say(
            &mut client,
            "INCR a\nDEL b\nLLEN l\nHGET h f\nSETNX b 1\nEXPIRE c 1\nSET a 1 GET",
        );
        let mut numbers = Numbers::default();
        numbers.add(server.shards()[0].numbers().as_bytes());
        assert_eq!(numbers.looks(), (6, 7));
        let text = render(client.session.shared.as_ref(), &[], &numbers);
        let mut lines = text.lines();
        assert!(lines.any(|line| line.starts_with("run_id:") && line.len() == 47));
        assert!(lines.any(|line| line.starts_with("used_memory_human:")));
        assert!(lines.any(|line| line == "keyspace_hits:6"));
        assert!(lines.any(|line| line.starts_with("db0:keys=2,expires=0")));
    }
}
