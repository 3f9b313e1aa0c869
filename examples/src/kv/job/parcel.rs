//! A job on its way to a shard of another node, and its replies on the way back.
//!
//! What comes from another node is checked as a whole before any of it runs.

use serde::{Deserialize, Serialize};

use super::{Job, Place, Step, Task, narrow};
use crate::kv::command::find;
use crate::kv::resp::{Proto, Reply, Span};
use crate::kv::store::{Args, DATABASES, WatchId};

/// The steps of a job that are left to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Parcel {
    /// The shard, numbered through all nodes.
    pub(crate) shard: u32,
    /// Where the sender believes keys to lie.
    pub(crate) layout: u64,
    node: u64,
    client: u64,
    /// The length of each word; the words lie one behind the other.
    lengths: Vec<u32>,
    #[serde(with = "serde_bytes")]
    words: Vec<u8>,
    steps: Vec<PackedStep>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PackedStep {
    task: PackedTask,
    words: u32,
    db: u8,
    resp3: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum PackedTask {
    Run(String),
    Watch { again: bool },
    Unwatch,
    Begin { replies: u32, steps: u32, watches: bool },
    Numbers,
}

/// What became of a parcel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The replies of the steps that were run: all, or as many as fit one answer.
    Ran {
        /// Where the reply of each step ends.
        ends: Vec<u32>,
        /// The replies, one behind the other.
        #[serde(with = "serde_bytes")]
        out: Vec<u8>,
    },
    /// Nothing was run; the text says why.
    Refused(String),
    /// Some of it may have been run, or none; the text says why.
    Unknown(String),
}

/// A parcel or an answer is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the other node says makes no sense here; it may run another version")]
pub(crate) struct Malformed;

/// Bytes that a step takes at most beside its words: the names and numbers of a [`PackedStep`].
const STEP_BYTES_MAX: usize = 64;
/// Bytes of the length of a word at most.
const LENGTH_BYTES_MAX: usize = 5;

impl Job {
    /// Returns how many of the steps that are left to run fit one message of so many bytes to another node.
    pub(crate) fn fitting(&self, bytes_max: usize) -> usize {
        let (mut end, mut bytes) = (self.next, 0);
        while end < self.steps.len() {
            let group = self.group_from(end);
            bytes += group.iter().map(|step| self.packed_bytes_max(step)).sum::<usize>();
            if bytes > bytes_max {
                break;
            }
            end += group.len();
        }
        end - self.next
    }

    /// Returns the steps from `first` on that go to another node together: a transaction is one thing to do, and numbers
    /// may be for a reply that is not to be parted.
    fn group_from(&self, first: usize) -> &[Step] {
        let rest = self.steps.get(first..).unwrap_or_default();
        let mut count = usize::from(!rest.is_empty());
        if let Some(Step { task: Task::Begin { steps, .. }, .. }) = rest.first() {
            count = rest.len().min(1 + *steps as usize);
        }
        let behind = rest.iter().skip(count);
        count += behind.take_while(|step| matches!(step.task, Task::Numbers)).count();
        rest.get(..count).unwrap_or_default()
    }

    fn packed_bytes_max(&self, step: &Step) -> usize {
        let args = step.args((&self.arena, &self.spans, &self.shared));
        args.tail(0).map(|word| word.len() + LENGTH_BYTES_MAX).sum::<usize>() + STEP_BYTES_MAX
    }

    /// Packs the next so many steps for a shard of another node.
    pub(crate) fn pack(&self, shard: usize, layout: u64, steps: usize) -> Parcel {
        let mut parcel = Parcel {
            shard: narrow(shard),
            layout,
            node: self.client.node,
            client: self.client.client,
            lengths: Vec::new(),
            words: Vec::new(),
            steps: Vec::new(),
        };
        for step in self.steps.iter().skip(self.next).take(steps) {
            let args = step.args((&self.arena, &self.spans, &self.shared));
            for word in args.tail(0) {
                parcel.lengths.push(narrow(word.len()));
                parcel.words.extend_from_slice(word);
            }
            let task = match step.task {
                Task::Run(spec) | Task::Admitted(spec) => PackedTask::Run(spec.name.to_owned()),
                Task::Watch { again } => PackedTask::Watch { again },
                Task::Unwatch => PackedTask::Unwatch,
                Task::Begin { replies, steps, watches } => {
                    PackedTask::Begin { replies, steps, watches }
                }
                Task::Numbers => PackedTask::Numbers,
            };
            let resp3 = step.proto == Proto::Resp3;
            parcel.steps.push(PackedStep { task, words: narrow(args.len()), db: step.db, resp3 });
        }
        parcel
    }

    /// Makes the job that another node has packed.
    pub(crate) fn unpack(parcel: Parcel) -> Result<Self, Malformed> {
        let mut job = Self::new(WatchId { node: parcel.node, client: parcel.client });
        job.arena = parcel.words;
        let mut start = 0_usize;
        for length in parcel.lengths {
            let end = start.checked_add(length as usize).filter(|end| *end <= job.arena.len());
            let end = end.ok_or(Malformed)?;
            job.spans.push(Span::new(start, end));
            start = end;
        }
        let mut first = 0_usize;
        let count = parcel.steps.len();
        for (index, packed) in parcel.steps.into_iter().enumerate() {
            if let PackedTask::Begin { steps, .. } = packed.task
                && steps as usize > count - index - 1
            {
                return Err(Malformed);
            }
            let end = first.checked_add(packed.words as usize).ok_or(Malformed)?;
            let spans = job.spans.get(first..end).ok_or(Malformed)?;
            let task = packed.task.unpack(Args::new(&job.arena, spans))?;
            if usize::from(packed.db) >= DATABASES {
                return Err(Malformed);
            }
            let proto = if packed.resp3 { Proto::Resp3 } else { Proto::Resp2 };
            let words = Place::Own { first: narrow(first), count: packed.words };
            job.steps.push(Step { task, words, db: packed.db, proto });
            first = end;
        }
        Ok(job)
    }

    /// Packs the replies of a job that has run.
    pub(crate) fn into_answer(self) -> Answer {
        Answer::Ran { ends: self.ends.into_iter().map(narrow).collect(), out: self.out }
    }

    /// Takes over what another node has run.
    pub(crate) fn accept(&mut self, ends: &[u32], out: &[u8]) -> Result<(), Malformed> {
        let left = self.steps.len() - self.next;
        let is_whole = ends.last().is_some_and(|end| *end as usize == out.len());
        if ends.len() > left || !is_whole || !ends.is_sorted() {
            return Err(Malformed);
        }
        let base = self.out.len();
        self.ends.extend(ends.iter().map(|end| base + *end as usize));
        self.out.extend_from_slice(out);
        self.next += ends.len();
        Ok(())
    }

    /// Answers each step that is left with an error. Numbers that are not to be had count as none, and to end a watch
    /// is no command of the client's.
    pub(crate) fn fail(&mut self, text: &str) {
        self.fail_before(self.steps.len(), text);
    }

    /// The same for the next step alone, or those of the transaction that it begins.
    pub(crate) fn fail_first(&mut self, text: &str) {
        self.fail_before(self.next + self.group_from(self.next).len(), text);
    }

    fn fail_before(&mut self, end: usize, text: &str) {
        self.has_failed = true;
        let mut skip = 0;
        while let Some(step) = self.steps.get(self.next).filter(|_| self.next < end) {
            let is_silent = skip > 0 || matches!(step.task, Task::Numbers | Task::Unwatch);
            if !is_silent {
                Reply::new(&mut self.out, step.proto).error(text);
            }
            skip = match step.task {
                // Its error is the reply of the whole transaction.
                Task::Begin { steps, .. } => steps,
                Task::Run(_)
                | Task::Admitted(_)
                | Task::Watch { .. }
                | Task::Unwatch
                | Task::Numbers => u32::saturating_sub(skip, 1),
            };
            self.ends.push(self.out.len());
            self.next += 1;
        }
    }
}

impl PackedTask {
    fn unpack(self, args: Args<'_>) -> Result<Task, Malformed> {
        Ok(match self {
            Self::Run(name) => {
                let spec = find(name.as_bytes()).ok_or(Malformed)?;
                let is_right = spec.run().is_some() && spec.accepts(args.len());
                let is_paired = spec.keys.step != 2 || !args.len().is_multiple_of(2);
                if !is_right || !is_paired {
                    return Err(Malformed);
                }
                Task::Run(spec)
            }
            Self::Watch { again } => Task::Watch { again },
            Self::Unwatch => Task::Unwatch,
            Self::Begin { replies, steps, watches } => Task::Begin { replies, steps, watches },
            Self::Numbers => Task::Numbers,
        })
    }
}
