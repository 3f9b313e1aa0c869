//! One turn of a connection: the commands of one read, where each runs, and how their replies become one stream.
//!
//! ```text
//! read -> plan: job for shard 0  -> shard 0 ->  \
//!               job for shard 1  -> shard 1 ->   > stitch: replies in the order of the commands -> write
//!               local replies, parts (the order) /
//! ```
//!
//! Invariants:
//!
//! 1. A shard sees the commands of a client in the order they were sent. Commands for different shards run side by
//!    side: a client cannot tell, for it sees replies in order only.
//! 2. A turn makes at most one message per shard, and never waits for one shard before asking the next.
//! 3. Reply bytes held at one time are bounded: a job pauses when it has produced enough, and goes on when the client
//!    has taken what there is.

use std::sync::Arc;

use super::aside::Aside;
use super::budget::weight;
use super::command::{Merge, Spec};
use super::info::Numbers;
use super::job::{Job, KEEP_BYTES_MAX, Task, Words, held};
use super::layout::Layout;
use super::resp::{Proto, Reply};
use super::room::{Room, brought_by};
use super::shared::Shared;
use super::store::{Args, Error, WatchId};

/// Something to be asked of the broker when the replies before it are in place.
#[derive(Debug)]
pub(crate) enum Late {
    /// Send a message; the reply is how many got it.
    Publish { channel: Box<[u8]>, message: Box<[u8]> },
    /// Begin or end to listen; the replies follow. Only names for which that changes something.
    Listen { names: Vec<Box<[u8]>>, patterns: bool, listen: bool },
    /// Answer `PUBSUB CHANNELS`.
    Channels { pattern: Option<Box<[u8]>>, proto: Proto },
    /// Answer `PUBSUB NUMSUB`.
    Listeners { names: Vec<Box<[u8]>>, proto: Proto },
    /// Answer `PUBSUB NUMPAT`.
    Patterns,
    /// Answer `INFO`; the numbers were gathered before.
    Info { asked: Vec<Box<[u8]>>, proto: Proto, numbers: Numbers },
}

/// Where the next replies of a turn come from.
#[derive(Debug)]
pub(super) enum Part {
    /// Bytes of `local` up to here.
    Local(usize),
    /// So many replies of one shard.
    Shard { shard: usize, count: usize },
    /// One reply from each shard in `fan[from..to]`.
    Gather { merge: Merge, proto: Proto, from: usize, to: usize },
    /// The numbers of every shard, for `INFO`.
    Info { asked: Vec<Box<[u8]>>, proto: Proto },
    /// The beginning of a transaction; if the shard refuses, its reply stands for all parts up to `end`.
    Begin { shard: usize, end: usize },
    /// The replies from here on are not for the client, or are again.
    Mute(bool),
    /// The replies from here on are parts of one.
    Open,
    /// They are no longer; messages behind them are written in this protocol.
    Close(Proto),
    /// What is asked late, and [`Turn::pushes`] at that command.
    Late(Late, Proto),
}

/// The commands and replies of one turn.
#[derive(Debug)]
pub(crate) struct Turn {
    /// By shard; a job that is away is `None`.
    pub(super) jobs: Vec<Option<Box<Job>>>,
    pub(super) parts: Vec<Part>,
    /// The part to stitch next.
    pub(super) at: usize,
    pub(super) local: Vec<u8>,
    /// Bytes of `local` stitched.
    pub(super) local_taken: usize,
    pub(super) fan: Vec<usize>,
    /// While replies are not for the client: what of the output is.
    pub(super) muted_from: Option<usize>,
    /// Within a reply that is not to be parted: where in the output it begins.
    pub(super) whole_from: Option<usize>,
    /// Messages that came meanwhile.
    pub(super) aside: Aside,
    /// A shard has refused a transaction.
    pub(super) is_refused: bool,
    /// Shards that have not run their job.
    missed: Vec<usize>,
    /// How messages from channels are written before the reply to the command that is being added.
    pub(super) pushes: Proto,
    /// Bytes that the jobs keep between turns.
    pub(super) kept_bytes: usize,
    /// Bytes of words that jobs share.
    pub(super) shared_bytes: usize,
    client: WatchId,
    layout: Layout,
}

impl Turn {
    pub(crate) fn new(client: WatchId, layout: Layout) -> Self {
        Self {
            jobs: (0..layout.shards()).map(|_| None).collect(),
            parts: Vec::new(),
            at: 0,
            local: Vec::new(),
            local_taken: 0,
            fan: Vec::new(),
            muted_from: None,
            whole_from: None,
            aside: Aside::default(),
            is_refused: false,
            missed: Vec::new(),
            pushes: Proto::Resp2,
            kept_bytes: 0,
            shared_bytes: 0,
            client,
            layout,
        }
    }

    /// Returns where keys lie.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn shards(&self) -> usize {
        self.jobs.len()
    }

    /// Returns whether all replies so far are there.
    pub(crate) fn is_answered(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Local(_) | Part::Mute(_)))
    }

    /// Writes a reply that needs no shard.
    pub(crate) fn local<T>(&mut self, proto: Proto, write: impl FnOnce(&mut Reply<'_>) -> T) -> T {
        let result = write(&mut Reply::new(&mut self.local, proto));
        let end = self.local.len();
        match self.parts.last_mut() {
            Some(Part::Local(last)) => *last = end,
            Some(_) | None => self.parts.push(Part::Local(end)),
        }
        result
    }

    /// Writes a plain `OK`.
    pub(crate) fn ok(&mut self, proto: Proto) {
        self.local(proto, |reply| reply.ok());
    }

    /// Withholds the replies that follow from the client, or no longer.
    pub(crate) fn mute(&mut self, is_muted: bool) {
        self.parts.push(Part::Mute(is_muted));
    }

    /// Makes one reply of those that follow.
    pub(crate) fn open(&mut self) {
        self.parts.push(Part::Open);
    }

    /// Ends that reply, behind which the client speaks this protocol.
    pub(crate) fn close(&mut self, proto: Proto) {
        self.parts.push(Part::Close(proto));
    }

    /// Adds something to ask the broker.
    pub(crate) fn late(&mut self, late: Late) {
        self.parts.push(Part::Late(late, self.pushes));
    }

    /// Adds a whole command for one shard.
    pub(crate) fn command(
        &mut self,
        shard: usize,
        spec: &'static Spec,
        db: usize,
        proto: Proto,
        args: Args<'_>,
    ) {
        self.job(shard).push_command(spec, db, proto, args);
        self.expect(shard);
    }

    /// Adds a step for one shard, with one reply.
    pub(crate) fn step(&mut self, shard: usize, task: Task, db: usize, args: Args<'_>) {
        self.job(shard).push(task, db, Proto::Resp2, args.tail(0));
        self.expect(shard);
    }

    /// Adds a command for every shard.
    pub(crate) fn all(
        &mut self,
        task: Task,
        merge: Merge,
        db: usize,
        proto: Proto,
        args: Args<'_>,
    ) {
        let from = self.fan.len();
        let words = Words::of(args);
        self.shared_bytes += words.held_bytes();
        for shard in 0..self.shards() {
            self.job(shard).push_shared(task, db, proto, Arc::clone(&words));
            self.fan.push(shard);
        }
        self.parts.push(Part::Gather { merge, proto, from, to: self.fan.len() });
    }

    /// Adds a question for the numbers of every shard.
    pub(crate) fn info(&mut self, asked: Vec<Box<[u8]>>, proto: Proto) {
        for shard in 0..self.shards() {
            self.job(shard).push(Task::Numbers, 0, Proto::Resp2, std::iter::empty());
        }
        self.parts.push(Part::Info { asked, proto });
    }

    /// Adds a command whose keys lie on several shards: each gets the command with its own keys, if there is room for
    /// all that it brings to this node.
    pub(crate) fn split(
        &mut self,
        spec: &'static Spec,
        merge: Merge,
        db: usize,
        proto: Proto,
        args: Args<'_>,
        shared: &Arc<Shared>,
    ) -> Result<(), Error> {
        let step = usize::try_from(spec.keys.step).unwrap_or(1);
        let homes = spec.keys(args).map(|key| self.layout.route(key));
        let mut keys: Vec<(usize, usize)> = homes.zip(0..).collect();
        let from = self.fan.len();
        if merge == Merge::Values {
            self.fan.extend(keys.iter().map(|(home, _)| *home));
        }
        keys.sort_unstable();
        let mut room = None;
        if spec.needs_memory() && shared.memory_max.get() > 0 {
            let parts = keys.chunk_by(|one, other| one.0 == other.0);
            let here =
                parts.filter(|mine| mine.first().is_some_and(|key| self.layout.is_here(key.0)));
            let bytes: usize = here.map(|mine| brought_by(words_of(args, step, mine))).sum();
            room = Some(Room::take(shared, bytes as u64).ok_or(Error::OUT_OF_MEMORY)?);
        }
        for mine in keys.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(shard, _)) = mine.first() else { continue };
            let grows = spec.needs_memory() && self.layout.is_here(shard);
            let task = if grows { Task::Admitted(spec) } else { Task::Run(spec) };
            let job = self.job(shard);
            job.push(task, db, proto, words_of(args, step, mine));
            if grows && let Some(room) = &mut room {
                job.give(room.part(brought_by(words_of(args, step, mine)) as u64));
            }
            if merge != Merge::Values {
                self.fan.push(shard);
            }
        }
        self.parts.push(Part::Gather { merge, proto, from, to: self.fan.len() });
        Ok(())
    }

    /// Opens a transaction on a shard by its [`Task::Begin`]; the commands of it follow, then [`Turn::end`].
    pub(crate) fn begin(&mut self, shard: usize, task: Task, proto: Proto) -> usize {
        self.job(shard).push(task, 0, proto, std::iter::empty());
        self.parts.push(Part::Begin { shard, end: 0 });
        self.parts.len() - 1
    }

    /// Closes the transaction that was opened as part `begun`.
    pub(crate) fn end(&mut self, begun: usize) {
        let here = self.parts.len();
        if let Some(Part::Begin { end, .. }) = self.parts.get_mut(begun) {
            *end = here;
        }
        // What follows must not be taken for a part of the transaction.
        self.parts.push(Part::Local(self.local.len()));
    }

    /// Returns whether the turn, which is over, ended with a transaction that a shard has refused.
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.is_refused)
    }

    /// Returns the shards that have not run their job of the turn, which is over.
    pub(crate) fn take_missed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.missed)
    }

    /// Takes the jobs that have something to run.
    pub(crate) fn take_jobs(&mut self) -> impl Iterator<Item = (usize, Box<Job>)> {
        let ready = |job: &mut Option<Box<Job>>| job.take_if(|job| !job.is_done());
        self.jobs.iter_mut().enumerate().filter_map(move |(shard, job)| Some((shard, ready(job)?)))
    }

    /// Takes the job of one shard.
    pub(crate) fn take_job(&mut self, shard: usize) -> Option<Box<Job>> {
        self.jobs.get_mut(shard)?.take()
    }

    /// Puts a job back that has been run.
    pub(crate) fn put_back(&mut self, shard: usize, mut job: Box<Job>) {
        if job.take_failed() {
            self.missed.push(shard);
        }
        if let Some(slot) = self.jobs.get_mut(shard) {
            *slot = Some(job);
        }
    }

    /// Gives back all that it has.
    pub(super) fn discard(&mut self) {
        *self = Self::new(self.client, self.layout.clone());
    }

    /// Returns the bytes of replies that need no shard.
    pub(super) fn local_bytes(&self) -> usize {
        self.local.len()
    }

    /// Returns the bytes that are allocated.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        let jobs: usize = self.jobs.iter().flatten().map(|job| job.held_bytes()).sum();
        jobs + held(&self.parts) + self.local.capacity() + held(&self.fan)
    }

    /// Returns about what it takes between turns.
    pub(super) fn idle_bytes(&self) -> usize {
        self.kept_bytes + held(&self.parts) + self.local.capacity() + held(&self.fan)
    }

    /// Returns about what it takes while it is under way.
    pub(super) fn weight(&self) -> usize {
        let jobs: usize = self.jobs.iter().flatten().map(|job| job.weight()).sum();
        let mut late = 0;
        for part in &self.parts {
            if let Part::Late(Late::Publish { channel, message }, _) = part {
                late += channel.len() + message.len();
            }
        }
        jobs + late
            + self.shared_bytes
            + held(&self.parts)
            + weight(&self.local, KEEP_BYTES_MAX)
            + held(&self.fan)
    }

    fn job(&mut self, shard: usize) -> &mut Job {
        let client = self.client;
        self.jobs[shard].get_or_insert_with(|| Box::new(Job::new(client)))
    }

    /// Notes that the next reply is one of `shard`.
    fn expect(&mut self, of: usize) {
        match self.parts.last_mut() {
            Some(Part::Shard { shard, count }) if *shard == of => *count += 1,
            Some(_) | None => self.parts.push(Part::Shard { shard: of, count: 1 }),
        }
    }
}

/// Returns the words of a command for one shard: its name, and so many for each of the keys there.
fn words_of<'a>(
    args: Args<'a>,
    step: usize,
    keys: &'a [(usize, usize)],
) -> impl Iterator<Item = &'a [u8]> {
    let words = keys.iter().flat_map(move |(_, key)| args.tail(1 + key * step).take(step));
    args.tail(0).take(1).chain(words)
}
