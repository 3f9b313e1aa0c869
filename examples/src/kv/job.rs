//! What a connection sends to a shard: the commands for it of one turn, in one message, and their replies back.
//!
//! A job travels back and forth and is filled again each turn, so that in steady state nothing is allocated per
//! command. The steps of a job run one after the other with nothing in between: that is what makes a transaction
//! atomic.

mod parcel;

use std::sync::Arc;

pub(crate) use parcel::{Answer, Parcel};

use greenroom::journal::{Commit, PersistError};

use super::budget::weight;
use super::command::Spec;
use super::resp::{Proto, Reply, Span};
use super::room::{self, Room};
use super::store::{Args, Error, Shard, WatchId};

/// Reply bytes after which a job pauses and lets its client read: what one client can make a shard hold at a time,
/// beside one single reply.
const PAUSE_BYTES: usize = 1 << 20;
/// What one buffer keeps allocated between turns: ten thousand idle clients have one of every kind each.
pub(crate) const KEEP_BYTES_MAX: usize = 16 * 1024;

/// One thing to do on a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Run a command.
    Run(&'static Spec),
    /// Run a part of a command, for all of which there was room.
    Admitted(&'static Spec),
    /// Watch keys; `again`: beside others that are watched.
    Watch { again: bool },
    /// Forget the watched keys.
    Unwatch,
    /// Begin a transaction of so many replies, the next so many steps of which are on this shard. If it `watches` keys,
    /// it depends on them.
    Begin { replies: u32, steps: u32, watches: bool },
    /// Tell numbers for `INFO`.
    Numbers,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    task: Task,
    words: Place,
    db: u8,
    proto: Proto,
}

/// Where the words of a step lie.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the job's arena.
    Own { first: u32, count: u32 },
    /// These of the words that it shares with other jobs.
    Shared(u32),
}

/// The words of a command that several shards are to run.
#[derive(Debug, Default)]
pub(crate) struct Words {
    arena: Vec<u8>,
    spans: Vec<Span>,
}

impl Words {
    pub(crate) fn of(args: Args<'_>) -> Arc<Self> {
        let mut words = Self::default();
        args.copy_to(&mut words.arena, &mut words.spans);
        Arc::new(words)
    }

    fn args(&self) -> Args<'_> {
        Args::new(&self.arena, &self.spans)
    }

    /// Returns the bytes that are allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        self.arena.capacity() + held(&self.spans)
    }
}

/// Commands for one shard and, after [`Job::run`], their replies.
#[derive(Debug)]
pub(crate) struct Job {
    client: WatchId,
    arena: Vec<u8>,
    spans: Vec<Span>,
    shared: Vec<Arc<Words>>,
    steps: Vec<Step>,
    /// The step to run next.
    next: usize,
    out: Vec<u8>,
    /// Where in `out` the reply of each step that was run ends.
    ends: Vec<usize>,
    /// Replies taken out.
    taken: usize,
    /// It has not reached its shard.
    has_failed: bool,
    /// What must be over before the replies may be read.
    commit: Option<Commit>,
    /// Taken for the steps that were admitted.
    room: Option<Room>,
    /// What of it the shard has, since it ran them.
    spent: u64,
}

impl Job {
    pub(crate) fn new(client: WatchId) -> Self {
        Self {
            client,
            arena: Vec::new(),
            spans: Vec::new(),
            shared: Vec::new(),
            steps: Vec::new(),
            next: 0,
            out: Vec::new(),
            ends: Vec::new(),
            taken: 0,
            has_failed: false,
            commit: None,
            room: None,
            spent: 0,
        }
    }

    /// Gives the job the room for a step that was admitted.
    pub(crate) fn give(&mut self, room: Room) {
        match &mut self.room {
            Some(has) => has.join(room),
            None => self.room = Some(room),
        }
    }

    /// Returns what the shard has had, since the last call, of the room that the job was given.
    pub(crate) fn take_spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }

    /// Returns about how many bytes of data the steps bring that are left to run and were not admitted.
    pub(crate) fn brought(&self) -> usize {
        let words = (&self.arena[..], &self.spans[..], &self.shared[..]);
        self.steps.iter().skip(self.next).map(|step| step.brought(words)).sum()
    }

    /// Returns whether the shard has not run it, since the last call.
    pub(crate) fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }

    /// Withholds the replies until the commit is over.
    pub(crate) fn hold_until(&mut self, commit: Option<Commit>) {
        self.commit = commit;
    }

    /// Waits until the replies may be read.
    pub(crate) async fn release(&mut self) -> Result<(), PersistError> {
        match self.commit.take() {
            Some(commit) => commit.wait().await,
            None => Ok(()),
        }
    }

    /// Adds a step whose words are copied one after the other.
    pub(crate) fn push<'a>(
        &mut self,
        task: Task,
        db: usize,
        proto: Proto,
        words: impl Iterator<Item = &'a [u8]>,
    ) {
        let first = self.spans.len();
        for word in words {
            let start = self.arena.len();
            self.arena.extend_from_slice(word);
            self.spans.push(Span::new(start, self.arena.len()));
        }
        self.add(task, self.own_from(first), db, proto);
    }

    /// Adds a step whose words are shared.
    pub(crate) fn push_shared(&mut self, task: Task, db: usize, proto: Proto, words: Arc<Words>) {
        let place = Place::Shared(narrow(self.shared.len()));
        self.shared.push(words);
        self.add(task, place, db, proto);
    }

    /// Adds a step that is one whole command: its words lie in one piece and are copied so.
    pub(crate) fn push_command(
        &mut self,
        spec: &'static Spec,
        db: usize,
        proto: Proto,
        args: Args<'_>,
    ) {
        let first = self.spans.len();
        args.copy_to(&mut self.arena, &mut self.spans);
        self.add(Task::Run(spec), self.own_from(first), db, proto);
    }

    fn own_from(&self, first: usize) -> Place {
        Place::Own { first: narrow(first), count: narrow(self.spans.len() - first) }
    }

    fn add(&mut self, task: Task, words: Place, db: usize, proto: Proto) {
        self.steps.push(Step { task, words, db: u8::try_from(db).unwrap_or(0), proto });
    }

    /// Returns whether every step was run.
    pub(crate) fn is_done(&self) -> bool {
        self.next == self.steps.len()
    }

    /// Runs the steps, until the end or until there is enough to read for now.
    pub(crate) fn run(&mut self, shard: &mut Shard) {
        let pause = self.out.len() + PAUSE_BYTES;
        let mut transaction = 0;
        while let Some(step) = self.steps.get(self.next).copied() {
            // Numbers are small, and may be for a reply that is not to be parted.
            let may_pause = transaction == 0 && !matches!(step.task, Task::Numbers);
            if may_pause && self.out.len() >= pause {
                break;
            }
            let words = (&self.arena[..], &self.spans[..], &self.shared[..]);
            let args = step.args(words);
            let db = usize::from(step.db);
            let mut reply = Reply::new(&mut self.out, step.proto);
            let is_inside = transaction > 0;
            transaction = u32::saturating_sub(transaction, 1);
            let mut skip = 0;
            match step.task {
                Task::Run(spec) if is_inside => shard.execute_begun(spec, db, args, &mut reply),
                Task::Run(spec) => shard.execute(spec, db, args, &mut reply),
                Task::Admitted(spec) => {
                    let bytes = room::brought(args);
                    let room = self.room.as_mut();
                    self.spent += room.map_or(0, |room| room.spend(bytes as u64));
                    shard.raise_limit(bytes);
                    shard.execute_begun(spec, db, args, &mut reply);
                }
                Task::Watch { again } => {
                    shard.watch(self.client, again, db, args);
                    reply.ok();
                }
                Task::Unwatch => {
                    shard.unwatch(self.client);
                }
                Task::Begin { replies, steps, watches } => {
                    let inside = self.steps.iter().skip(self.next + 1).take(steps as usize);
                    let bytes: usize = inside.map(|step| step.brought(words)).sum();
                    // A shard that was started again, or has missed the client's node, cannot know what changed.
                    let is_touched = shard.unwatch(self.client).unwrap_or(true);
                    if watches && is_touched {
                        reply.null_array();
                        skip = steps;
                    } else if bytes > 0 && !shard.has_room(bytes) {
                        let why = Error::OUT_OF_MEMORY.0;
                        reply.error(
                            [b"EXECABORT Transaction discarded because of: ", &*why].concat(),
                        );
                        skip = steps;
                    } else {
                        reply.array(replies as usize);
                        transaction = steps;
                    }
                }
                Task::Numbers => reply.raw(shard.numbers().as_bytes()),
            }
            self.ends.push(self.out.len());
            self.next += 1;
            for _ in 0..skip {
                self.ends.push(self.out.len());
                self.next += 1;
            }
        }
    }

    /// Takes the next reply out, if that step was run.
    pub(crate) fn take(&mut self) -> Option<&[u8]> {
        let start = if self.taken == 0 { 0 } else { *self.ends.get(self.taken - 1)? };
        let end = *self.ends.get(self.taken)?;
        self.taken += 1;
        self.out.get(start..end)
    }

    /// Returns whether a reply can be taken out.
    pub(crate) fn has_reply(&self) -> bool {
        self.taken < self.ends.len()
    }

    /// Takes up to `count` replies out in one piece; returns how many and the piece.
    pub(crate) fn take_many(&mut self, count: usize) -> (usize, &[u8]) {
        let start =
            if self.taken == 0 { 0 } else { self.ends.get(self.taken - 1).copied().unwrap_or(0) };
        let available = count.min(self.ends.len() - self.taken);
        if available == 0 {
            return (0, &[]);
        }
        self.taken += available;
        let end = self.ends.get(self.taken - 1).copied().unwrap_or(start);
        (available, self.out.get(start..end).unwrap_or_default())
    }

    /// Returns all replies at once if every step was run and none was taken.
    pub(crate) fn swap_replies(&mut self, out: &mut Vec<u8>) {
        std::mem::swap(&mut self.out, out);
        self.clear();
    }

    /// Forgets the replies that were taken, when all that there are were.
    pub(crate) fn forget_taken(&mut self) {
        if self.taken == self.ends.len() {
            self.steps.drain(..self.next);
            self.next = 0;
            self.taken = 0;
            self.ends.clear();
            clear(&mut self.out);
        }
    }

    /// Returns the bytes that are allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        self.arena.capacity()
            + held(&self.spans)
            + held(&self.shared)
            + held(&self.steps)
            + self.out.capacity()
            + held(&self.ends)
    }

    /// Returns what it takes while it is under way.
    pub(crate) fn weight(&self) -> usize {
        let weight = |bytes: &Vec<u8>| weight(bytes, KEEP_BYTES_MAX);
        weight(&self.arena)
            + weight(&self.out)
            + held(&self.spans)
            + held(&self.shared)
            + held(&self.steps)
            + held(&self.ends)
    }

    /// Makes the job ready for the next turn.
    pub(crate) fn clear(&mut self) {
        clear(&mut self.arena);
        clear(&mut self.spans);
        clear(&mut self.shared);
        clear(&mut self.steps);
        clear(&mut self.out);
        clear(&mut self.ends);
        self.room = None;
        self.next = 0;
        self.taken = 0;
    }
}

impl Step {
    /// Returns about how many bytes of data it brings, unless it was admitted.
    fn brought(&self, words: Lying<'_>) -> usize {
        match self.task {
            Task::Run(spec) if spec.needs_memory() => room::brought(self.args(words)),
            Task::Run(_)
            | Task::Admitted(_)
            | Task::Watch { .. }
            | Task::Unwatch
            | Task::Begin { .. }
            | Task::Numbers => 0,
        }
    }

    fn args<'a>(&self, (arena, spans, shared): Lying<'a>) -> Args<'a> {
        match self.words {
            Place::Own { first, count } => {
                let first = first as usize;
                Args::new(arena, spans.get(first..first + count as usize).unwrap_or_default())
            }
            Place::Shared(index) => {
                shared.get(index as usize).map_or(Args::new(&[], &[]), |words| words.args())
            }
        }
    }
}

/// What the steps of a job have their words in: its arena, the spans there, and the words that it shares.
type Lying<'a> = (&'a [u8], &'a [Span], &'a [Arc<Words>]);

/// Empties a buffer, giving back what one large request made it grow to.
pub(crate) fn clear<T>(buffer: &mut Vec<T>) {
    buffer.clear();
    buffer.shrink_to(KEEP_BYTES_MAX / size_of::<T>());
}

/// Returns the bytes that a buffer has allocated.
pub(crate) fn held<T>(buffer: &Vec<T>) -> usize {
    buffer.capacity() * size_of::<T>()
}

pub(crate) fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
