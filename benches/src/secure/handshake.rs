//! Whole exchanges of keys, between two endpoints in one thread.

use super::{Runner, interleave};
use crate::rows::Row;
use crate::table::{Table, time, verdict};
use greenroom_transports::link::Time;
use greenroom_transports::secure::endpoint::{AssociationId, Config, Endpoint, Event};
use greenroom_transports::secure::entropy::System;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::secure::wire::Suite;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Exchanges of one measurement.
const EXCHANGES: u32 = 200;
/// How many hybrid ones an end is to do in a second; an exchange is the work of two.
const HYBRID_GOAL: f64 = 3_000.0;
/// Between two of them, so that nobody is too fast for the limiter.
const PAUSE: Duration = Duration::from_secs(30);

/// Two nodes that know each other.
struct Two {
    nodes: [Endpoint; 2],
    now: Time,
    association: AssociationId,
}

fn identity(who: u8) -> Identity {
    Identity::new(Key::new([who; 32]))
}

fn address(who: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + u8::from(who > 0)], 7000))
}

impl Two {
    fn connected(suite: Suite) -> Result<Self, String> {
        let node = |own: u8, other: u8| {
            let config = Config { suite, ..Config::default() };
            let since = Duration::from_secs(1_700_000_000);
            let made = Endpoint::new(config, identity(own), None, since, Box::new(System));
            let mut made = made.map_err(|error| error.to_string())?;
            made.allow(identity(other).public());
            Ok::<_, String>(made)
        };
        let mut nodes = [node(1, 2)?, node(2, 1)?];
        let now = Time::from_nanos(1);
        let asked = nodes[0].connect(now, &identity(2).public(), address(1));
        asked.map_err(|error| error.to_string())?;
        let up = carry(&mut nodes, now).into_iter().find_map(|event| match event {
            Event::Up { association, .. } => Some(association),
            _ => None,
        });
        let association = up.ok_or("two nodes did not find each other")?;
        Ok(Self { nodes, now, association })
    }

    /// Exchanges new keys.
    fn exchange(&mut self) {
        self.now = self.now + PAUSE;
        self.nodes[0].rekey(self.now, self.association).expect("the association is there");
        let events = carry(&mut self.nodes, self.now);
        let is_renewed = events.iter().any(|event| matches!(event, Event::Rekeyed { .. }));
        assert!(is_renewed, "{events:?}");
    }
}

/// Carries what they have to say until they have nothing more; returns what the first one tells.
fn carry(nodes: &mut [Endpoint; 2], now: Time) -> Vec<Event> {
    let mut carried = true;
    while std::mem::take(&mut carried) {
        for from in 0..2 {
            while let Some(mut transmit) = nodes[from].poll_transmit() {
                carried = true;
                nodes[1 - from].handle(now, address(from), &mut transmit.packet);
            }
        }
    }
    while nodes[1].poll_event().is_some() {}
    std::iter::from_fn(|| nodes[0].poll_event()).collect()
}

/// Measures both kinds.
///
/// # Errors
/// When two nodes do not find each other.
pub(super) fn table(rounds: usize, rows: &mut Vec<Row>) -> Result<Table, String> {
    eprintln!("secure: handshakes");
    let mut runners = Vec::new();
    for (who, suite) in [
        ("classic", Suite::Classic),
        ("hybrid", Suite::Hybrid),
        ("classic (again)", Suite::Classic),
    ] {
        let mut two = Two::connected(suite)?;
        runners.push(Runner::new("handshake", who, EXCHANGES, move |n| {
            let clock = Instant::now();
            (0..n).for_each(|_| two.exchange());
            clock.elapsed()
        }));
    }
    interleave(rounds, &mut runners);
    let mut table = Table::new(&["which", "an exchange", "a second", "an end alone"]);
    for runner in runners {
        let who = runner.who;
        let nanos = runner.finish(rows);
        let (both, one) = (1e9 / nanos, 2e9 / nanos);
        let one = match who {
            "hybrid" => {
                let reached = verdict(HYBRID_GOAL, one);
                format!("{one:.0}, goal {HYBRID_GOAL:.0}: {reached}")
            }
            _ => format!("{one:.0}"),
        };
        table.row([who.to_owned(), time(nanos), format!("{both:.0}"), one]);
    }
    Ok(table)
}
