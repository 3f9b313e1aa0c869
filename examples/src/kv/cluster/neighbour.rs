//! Another node, as this one reaches it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use greenroom::net::{Address, Node, NodeId, Peer};
use greenroom::{AskError, Ref};
use greenroom_transports::config;
use greenroom_transports::udp::Udp;
use parking_lot::Mutex;

use super::trouble::{Changes, Unreached};
use super::{NAME, Porter, say};
use crate::kv::clock::now_ms;
use crate::kv::job::{Answer, Job};
use crate::kv::shard_actor::ShardActor;

/// Between two attempts to reach a node.
const RETRY: Duration = Duration::from_millis(250);
/// How long one attempt may take; it goes on in the next.
const ATTEMPT: Duration = Duration::from_secs(3);
/// Bytes of a job that go to another node at once: what one message of a link may be, with room for what goes before it.
const JOB_BYTES_MAX: usize = 15 << 20;

/// What an error says when the node may or may not have done its work.
const MAY_BE_DONE: &str = "what was asked may have been done";

/// Another node.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) id: NodeId,
    name: String,
    /// Where it is; without one, it comes by itself.
    address: Option<Address>,
    layout: u64,
    state: Mutex<State>,
}

/// How a node is.
#[derive(Debug)]
struct State {
    /// Who takes jobs there, while it is up.
    porter: Option<Ref<Porter>>,
    /// Since when it is so, in milliseconds of the epoch.
    since_ms: i64,
}

impl State {
    fn new(porter: Option<Ref<Porter>>) -> Self {
        Self { porter, since_ms: now_ms() }
    }
}

impl Neighbour {
    pub(crate) fn new(peer: &config::Peer, layout: u64) -> Self {
        let id = peer.key.node();
        let name = peer.name.clone().unwrap_or_else(|| id.to_string());
        Self { id, name, address: peer.place(), layout, state: Mutex::new(State::new(None)) }
    }

    /// Has a shard of the node run a job, or as much of it as one message takes. If it cannot, the replies say so.
    pub(crate) async fn run(&self, shard: usize, mut job: Box<Job>) -> Box<Job> {
        let steps = self.fitting(&mut job);
        if steps == 0 {
            return job;
        }
        let porter = self.state.lock().porter.clone();
        let asked = match porter {
            Some(porter) => porter.run(job.pack(shard, self.layout, steps)).await,
            None => Err(AskError::Closed),
        };
        let failed = match asked {
            Ok(Answer::Ran { ends, out }) => match job.accept(&ends, &out) {
                Ok(()) => return job,
                Err(error) => format!(": {error}"),
            },
            Ok(Answer::Refused(why)) => format!(": {why}"),
            Ok(Answer::Unknown(why)) => format!(": {why}; {MAY_BE_DONE}"),
            Err(AskError::Closed) => " is down; its keys are back when it is".to_owned(),
            Err(error) => format!(": {error}; {MAY_BE_DONE}"),
        };
        job.fail(&format!("CLUSTERDOWN node {}{failed}", self.name));
        job
    }

    /// Returns how many of the steps that are left go to the node at once. Those that never can are answered with an error.
    fn fitting(&self, job: &mut Job) -> usize {
        while !job.is_done() {
            let steps = job.fitting(JOB_BYTES_MAX);
            if steps > 0 {
                return steps;
            }
            let (name, max) = (&self.name, JOB_BYTES_MAX >> 20);
            job.fail_first(&format!(
                "ERR too large for node {name}, which takes {max} MiB; nothing was done there"
            ));
        }
        0
    }

    /// Says how the node is, as `INFO` shows it.
    pub(super) fn show(&self, udp: &Udp) -> String {
        let (is_up, since_ms) = {
            let state = self.state.lock();
            (state.porter.is_some(), state.since_ms)
        };
        let word = if is_up { "up" } else { "down" };
        let trip = udp.round_trip(self.id).filter(|_| is_up);
        let trip = trip.map_or_else(String::new, |trip| format!(",rtt_us={}", trip.as_micros()));
        let (name, since) = (&self.name, since_ms / 1000);
        format!("name={name},id={},state={word},since={since}{trip}", self.id)
    }

    /// Reaches the node, or says why it cannot be, for now.
    async fn reach(&self, node: &Node) -> Result<(Peer, Ref<Porter>), String> {
        let peer = match (node.peer(self.id), &self.address) {
            (Some(peer), _) => peer,
            (None, Some(address)) => {
                node.connect(address).await.map_err(|error| error.to_string())?
            }
            (None, None) => return Err("the file has no address of it, and it has not come".into()),
        };
        let porter = peer.find::<Porter>(NAME).await.map_err(|error| error.to_string())?;
        Ok((peer, porter))
    }

    /// As [`Neighbour::reach`], for as long as an attempt may take.
    async fn try_to_reach(&self, node: &Node) -> Result<(Peer, Ref<Porter>), String> {
        let reached = tokio::time::timeout(ATTEMPT, self.reach(node)).await;
        reached
            .unwrap_or_else(|_| Err("there is no answer; it may be down, or a key is wrong".into()))
    }
}

/// Connects with the node whenever it is there, for as long as this one runs.
pub(super) async fn keep(node: Node, neighbour: Arc<Neighbour>, shards: Arc<[Ref<ShardActor>]>) {
    let name = &neighbour.name;
    let mut unreached = Unreached::new(Instant::now());
    let mut changes = Changes::new(Instant::now());
    loop {
        say_of(name, changes.after_all(Instant::now()));
        match neighbour.try_to_reach(&node).await {
            Ok((peer, porter)) => {
                *neighbour.state.lock() = State::new(Some(porter));
                say_change(&mut changes, name, "is up");
                end(&peer, &mut changes, name).await;
                *neighbour.state.lock() = State::new(None);
                say_change(&mut changes, name, "is down");
                for shard in shards.iter() {
                    // A shard that is gone has forgotten everybody.
                    let _ = shard.forget(neighbour.id.0).await;
                }
                unreached = Unreached::new(Instant::now());
            }
            Err(why) if unreached.note(Instant::now(), &why) => {
                say(format_args!("node {name} has not been reached: {why}"));
            }
            Err(_) => {}
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Waits until the peer is gone, and says meanwhile what is due.
async fn end(peer: &Peer, changes: &mut Changes, name: &str) {
    if let Some(due) = changes.due() {
        let left = due.saturating_duration_since(Instant::now());
        if tokio::time::timeout(left, peer.ended()).await.is_ok() {
            return;
        }
        say_of(name, changes.after_all(Instant::now()));
    }
    peer.ended().await;
}

fn say_change(changes: &mut Changes, name: &str, what: &'static str) {
    say_of(name, changes.note(Instant::now(), what));
}

fn say_of(name: &str, what: Option<&str>) {
    if let Some(what) = what {
        say(format_args!("node {name} {what}"));
    }
}
