//! The actor that owns one shard: it runs jobs, one after the other, and takes out expired keys.

use std::sync::Arc;
use std::time::Duration;

use greenroom::journal::Journal;
use greenroom::{Actor, Context, handlers};

use super::clock::now_ms;
use super::job::Job;
use super::keeper::{KeepError, Keeper};
use super::shared::Shared;
use super::store::{Place, Shard};

/// Time between two looks for expired keys.
const SWEEP_PERIOD: Duration = Duration::from_millis(100);
/// Keys looked at each time: what expiry may cost other clients.
const SWEEP_KEYS: usize = 2_000;

/// Owns the keys of one shard.
#[derive(Actor)]
pub(crate) struct ShardActor {
    shard: Shard,
    shared: Arc<Shared>,
    /// Where its keys are kept, if they are.
    keeper: Option<Keeper>,
    /// How often it has started its counts anew.
    resets: u64,
    /// What this shard has added to the server's sum of bytes used: between two jobs, what it uses.
    told: u64,
}

#[handlers]
impl ShardActor {
    #[start]
    async fn start(
        index: usize,
        shared: Arc<Shared>,
        journal: Option<Journal>,
        cx: &mut Context<Self>,
    ) -> Result<Self, KeepError> {
        let first = shared.layout.first().unwrap_or(0);
        let place = Place { index: first + index, count: shared.layout.shards() };
        let mut shard = Shard::new(place);
        let mut keeper = None;
        if let Some(journal) = journal {
            let shared = Arc::clone(&shared);
            keeper = Some(Keeper::recover(&journal, index, &mut shard, shared, cx).await?);
        }
        cx.every(SWEEP_PERIOD, Self::sweep);
        let mut me = Self { shard, shared, keeper, resets: 0, told: 0 };
        me.tell_used();
        Ok(me)
    }

    /// Runs the commands of a job and sends it back with the replies.
    #[ask]
    fn run(&mut self, mut job: Box<Job>) -> Box<Job> {
        self.shard.set_now(now_ms());
        self.make_room(&job);
        self.reset_counts_if_told();
        job.run(&mut self.shard);
        self.told += job.take_spent();
        if let Some(keeper) = &mut self.keeper {
            job.hold_until(keeper.keep(&mut self.shard));
        }
        self.tell_used();
        job
    }

    /// Forgets the clients of a node that is gone.
    #[tell]
    fn forget(&mut self, node: u64) {
        self.shard.unwatch_node(node);
    }

    #[local]
    fn sweep(&mut self) {
        self.reset_counts_if_told();
        self.shard.set_now(now_ms());
        let mut taken = self.shard.sweep(SWEEP_KEYS);
        // While much has expired, go on, but not for so long that a client would notice.
        for _ in 0..8 {
            if taken < SWEEP_KEYS / 4 {
                break;
            }
            taken = self.shard.sweep(SWEEP_KEYS);
        }
        self.tell_used();
    }

    fn reset_counts_if_told(&mut self) {
        let resets = self.shared.resets.get();
        if resets != self.resets {
            self.shard.reset_counts();
            self.resets = resets;
        }
    }

    /// Takes what a job brings of what is left of the server's memory, so that no other shard has it too. What is not
    /// needed goes back when the job has run.
    fn make_room(&mut self, job: &Job) {
        let limit = if self.shared.memory_max.get() == 0 {
            usize::MAX
        } else {
            self.told += self.shared.take_memory(job.brought() as u64);
            usize::try_from(self.told).unwrap_or(usize::MAX)
        };
        self.shard.set_limit(limit);
    }

    fn tell_used(&mut self) {
        let used = self.shard.used() as u64;
        if used > self.told {
            self.shared.memory_used.add(used - self.told);
        } else if used < self.told {
            self.shared.memory_used.subtract(self.told - used);
        }
        self.told = used;
        self.shared.memory_peak.raise(self.shared.memory_used.get());
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;
    use crate::kv::command::find;
    use crate::kv::job::Task;
    use crate::kv::resp::Proto;
    use crate::kv::session::Effect;
    use crate::kv::shared::Limits;
    use crate::kv::store::WatchId;

    #[test]
    fn what_expires_after_the_counts_were_started_anew_is_counted() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let shared = Shared::new(Limits::default(), address, 1, 1, "none".to_owned());
        let mut actor = ShardActor {
            shard: Shard::new(Place { index: 0, count: 1 }),
            shared: Arc::new(shared),
            keeper: None,
            resets: 0,
            told: 0,
        };
        let job = || Box::new(Job::new(WatchId { node: 0, client: 1 }));
        let mut set = job();
        let words = ["SET", "a", "1", "PX", "100"].map(str::as_bytes);
        set.push(Task::Run(find(b"set").unwrap()), 0, Proto::Resp2, words.into_iter());
        // A time long ago: the key has expired by the clock.
        actor.shard.set_now(1);
        set.run(&mut actor.shard);
        assert_eq!(set.take(), Some(&b"+OK\r\n"[..]));

        actor.shared.apply(Effect::ResetStats);
        actor.sweep();
        let mut numbers = job();
        numbers.push(Task::Numbers, 0, Proto::Resp2, std::iter::empty());
        let mut numbers = actor.run(numbers);
        let told = String::from_utf8_lossy(numbers.take().unwrap()).into_owned();
        assert!(told.starts_with("0 1 0 0 "), "{told}");
    }
}
