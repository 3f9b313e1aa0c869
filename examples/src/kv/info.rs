//! The text of `INFO`.

use std::fmt::Write as _;

use super::clock::now_ms;
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

    /// Returns keys and volatile keys of each database.
    fn databases(&self) -> impl Iterator<Item = (u64, u64)> {
        let sizes = self.0.get(2..).unwrap_or_default();
        sizes.chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }
}

type Section = fn(&Shared, &Numbers, &mut String);

const SECTIONS: [(&str, Section); 8] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("Cluster", cluster),
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
    line(text, format_args!("tcp_port:{}", shared.address.port()));
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
    line(text, format_args!("used_memory:{}", numbers.used()));
    line(text, format_args!("used_memory_dataset:{}", numbers.used()));
    line(text, format_args!("maxmemory:{}", shared.memory_max.get()));
    line(text, format_args!("maxmemory_policy:noeviction"));
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
    for (reason, name) in Cut::ALL {
        line(text, format_args!("{name}:{}", stats.cuts(reason)));
    }
}

/// Clients that look for a master find one.
fn replication(_: &Shared, _: &Numbers, text: &mut String) {
    line(text, format_args!("role:master"));
    line(text, format_args!("connected_slaves:0"));
}

fn cluster(_: &Shared, _: &Numbers, text: &mut String) {
    line(text, format_args!("cluster_enabled:0"));
}

fn keyspace(_: &Shared, numbers: &Numbers, text: &mut String) {
    for (db, (keys, volatile)) in numbers.databases().enumerate() {
        if keys > 0 {
            line(text, format_args!("db{db}:keys={keys},expires={volatile},avg_ttl=0"));
        }
    }
}
