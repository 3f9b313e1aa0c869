//! The actor that owns one shard: it runs jobs, one after the other, and takes out expired keys.

use std::sync::Arc;
use std::time::Duration;

use greenroom::journal::Journal;
use greenroom::{Actor, Context, handlers};

use super::clock::Forward;
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
    clock: Forward,
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
        let mut me = Self::new(shard, shared, keeper);
        me.tell_used();
        Ok(me)
    }

    /// Runs the commands of a job and sends it back with the replies.
    #[ask]
    fn run(&mut self, mut job: Box<Job>) -> Box<Job> {
        self.set_time();
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
        self.set_time();
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

    fn new(shard: Shard, shared: Arc<Shared>, keeper: Option<Keeper>) -> Self {
        Self { shard, shared, clock: Forward::default(), keeper, resets: 0, told: 0 }
    }

    /// Tells the shard the time at which what follows runs.
    fn set_time(&mut self) {
        self.shard.set_now(self.clock.now_ms(self.shard.now()));
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
    use std::time::Instant;

    use super::*;
    use crate::kv::clock::now_ms;
    use crate::kv::command::find;
    use crate::kv::job::Task;
    use crate::kv::resp::Proto;
    use crate::kv::session::Effect;
    use crate::kv::shared::Limits;
    use crate::kv::store::WatchId;

    fn actor() -> ShardActor {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let shared = Arc::new(Shared::new(Limits::default(), address, 1, 1, "none".to_owned()));
        ShardActor::new(Shard::new(Place { index: 0, count: 1 }), shared, None)
    }

    fn job(words: &[&str]) -> Box<Job> {
        let mut job = Box::new(Job::new(WatchId { node: 0, client: 1 }));
        let spec = find(words[0].to_ascii_lowercase().as_bytes()).unwrap();
        let words = words.iter().map(|word| word.as_bytes());
        job.push(Task::Run(spec), 0, Proto::Resp2, words);
        job
    }

    #[test]
    fn keys_expire_also_while_the_clock_is_behind_what_it_was() {
        let mut actor = actor();
        // As kept commands say that were run by a clock that was ahead.
        actor.shard.set_now(now_ms() + 30 * 24 * 3_600_000);
        let mut set = actor.run(job(&["SET", "a", "1", "PX", "20"]));
        assert_eq!(set.take(), Some(&b"+OK\r\n"[..]));
        let end = Instant::now() + Duration::from_secs(100);
        while actor.run(job(&["GET", "a"])).take() != Some(&b"$-1\r\n"[..]) {
            assert!(Instant::now() < end, "the time stands still");
        }
    }

    #[test]
    fn what_expires_after_the_counts_were_started_anew_is_counted() {
        let mut actor = actor();
        let mut set = job(&["SET", "a", "1", "PX", "100"]);
        // A time long ago: the key has expired by the clock.
        actor.shard.set_now(1);
        set.run(&mut actor.shard);
        assert_eq!(set.take(), Some(&b"+OK\r\n"[..]));

        actor.shared.apply(Effect::ResetStats);
        actor.sweep();
        let mut numbers = Box::new(Job::new(WatchId { node: 0, client: 1 }));
        numbers.push(Task::Numbers, 0, Proto::Resp2, std::iter::empty());
        let mut numbers = actor.run(numbers);
        let told = String::from_utf8_lossy(numbers.take().unwrap()).into_owned();
        assert!(told.starts_with("0 1 0 0 "), "{told}");
    }
}
