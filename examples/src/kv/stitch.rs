//! Puts the replies of a turn together, in the order of its commands.

use super::command::Merge;
use super::info::Numbers;
use super::job::{KEEP_BYTES_MAX, clear};
use super::merge;
use super::resp::Proto;
use super::turn::{Late, Part, Turn};

/// What all jobs of a client keep allocated between turns.
const KEEP_JOBS_BYTES_MAX: usize = 4 * KEEP_BYTES_MAX;

/// What [`Turn::stitch`] stopped at.
#[derive(Debug)]
pub(crate) enum Stitched {
    /// All replies are in place.
    Done,
    /// This must be asked before the rest; what came for a client that listens may be written in this protocol before
    /// the answer.
    Late(Late, Proto),
    /// The job of this shard paused; it must run on before the rest.
    Paused(usize),
}

/// What one part came to.
enum Next {
    /// On to the part after it.
    Step,
    /// On to this part.
    Jump(usize),
    /// Not before something has happened.
    Stop(Stitched),
}

impl Turn {
    /// Appends replies to `out`, in order, as far as they are there.
    pub(crate) fn stitch(&mut self, out: &mut Vec<u8>) -> Stitched {
        if self.at == 0
            && let [Part::Shard { shard, count: _ }] = self.parts[..]
            && let Some(Some(job)) = self.jobs.get_mut(shard)
            && out.is_empty()
            && job.is_done()
        {
            // Everything went to one shard, as it does for a client that works on one key: no copy.
            job.swap_replies(out);
            let held = job.held_bytes();
            self.kept_bytes = self.kept_bytes.max(held);
            if held > KEEP_JOBS_BYTES_MAX / self.jobs.len() {
                self.reset();
            } else {
                self.parts.clear();
            }
            return Stitched::Done;
        }
        if let Some(from) = &mut self.muted_from {
            // Since the last call the output was written, or an answer from elsewhere was added.
            *from = out.len().min(*from);
        }
        self.drop_muted(out);
        while self.at < self.parts.len() {
            match self.stitch_part(out) {
                Next::Step => self.at += 1,
                Next::Jump(at) => self.at = at,
                Next::Stop(stitched) => return stitched,
            }
        }
        self.reset();
        Stitched::Done
    }

    fn stitch_part(&mut self, out: &mut Vec<u8>) -> Next {
        match &mut self.parts[self.at] {
            Part::Local(end) => {
                let end = *end;
                out.extend_from_slice(self.local.get(self.local_taken..end).unwrap_or_default());
                self.local_taken = end;
                Next::Step
            }
            Part::Shard { shard, count } => {
                let shard = *shard;
                let Some(Some(job)) = self.jobs.get_mut(shard) else { return paused(shard) };
                let (taken, replies) = job.take_many(*count);
                out.extend_from_slice(replies);
                *count -= taken;
                if *count == 0 {
                    return Next::Step;
                }
                job.forget_taken();
                paused(shard)
            }
            Part::Gather { merge, proto, from, to } => {
                let (merge, proto, fan) = (*merge, *proto, *from..*to);
                self.gather(merge, proto, fan, out)
            }
            Part::Info { asked, proto } => {
                let (asked, proto) = (std::mem::take(asked), *proto);
                self.info_part(asked, proto)
            }
            Part::Begin { shard, end } => {
                let (shard, end) = (*shard, *end);
                self.begin_part(shard, end, out)
            }
            Part::Mute(is_muted) => {
                let is_muted = *is_muted;
                self.drop_muted(out);
                self.muted_from = is_muted.then_some(out.len());
                Next::Step
            }
            Part::Open => {
                self.whole_from = Some(out.len());
                Next::Step
            }
            Part::Close(proto) => {
                let proto = *proto;
                self.close_part(proto, out);
                Next::Step
            }
            Part::Late(late, pushes) => {
                let (late, pushes) = (std::mem::replace(late, Late::Patterns), *pushes);
                self.at += 1;
                Next::Stop(Stitched::Late(late, pushes))
            }
        }
    }

    fn close_part(&mut self, proto: Proto, out: &mut Vec<u8>) {
        self.drop_muted(out);
        let from = self.whole_from.take().unwrap_or(out.len());
        self.aside.put(from.min(out.len()), proto, out);
        // Messages are for the client in any case.
        self.muted_from = self.muted_from.map(|_| out.len());
    }

    /// Takes out of the output what is not for the client.
    pub(super) fn drop_muted(&self, out: &mut Vec<u8>) {
        if let Some(from) = self.muted_from {
            out.truncate(from);
        }
    }

    fn gather(
        &mut self,
        merge: Merge,
        proto: Proto,
        fan: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) -> Next {
        let fan = self.fan.get(fan).unwrap_or_default();
        match merge::merge(merge, proto, fan, &mut self.jobs, out) {
            Ok(()) => Next::Step,
            Err(shard) => paused(shard),
        }
    }

    fn info_part(&mut self, asked: Vec<Box<[u8]>>, proto: Proto) -> Next {
        let every: Vec<usize> = (0..self.jobs.len()).collect();
        let mut numbers = Numbers::default();
        match merge::take_each(&every, &mut self.jobs) {
            Ok(replies) => replies.iter().for_each(|(_, told)| numbers.add(told)),
            Err(shard) => {
                self.parts[self.at] = Part::Info { asked, proto };
                return paused(shard);
            }
        }
        self.at += 1;
        Next::Stop(Stitched::Late(Late::Info { asked, proto, numbers }, proto))
    }

    fn begin_part(&mut self, shard: usize, end: usize, out: &mut Vec<u8>) -> Next {
        let Some(Some(job)) = self.jobs.get_mut(shard) else { return paused(shard) };
        if !job.has_reply() {
            job.forget_taken();
        }
        let Some(reply) = job.take() else { return paused(shard) };
        out.extend_from_slice(reply);
        let is_refused = matches!(reply, [b'*', b'-', ..] | [b'_' | b'-', ..]);
        // That of the last transaction counts: a turn goes on only behind one that changes nothing of the session.
        self.is_refused = is_refused;
        if !is_refused {
            return Next::Step;
        }
        self.skip(end);
        Next::Jump(end)
    }

    /// Passes over the parts of a transaction that was refused; their replies are empty.
    fn skip(&mut self, end: usize) {
        for index in self.at + 1..end {
            match &self.parts[index] {
                Part::Local(end) => self.local_taken = *end,
                Part::Shard { shard, count } => {
                    let (shard, count) = (*shard, *count);
                    if let Some(Some(job)) = self.jobs.get_mut(shard) {
                        job.take_many(count);
                    }
                }
                Part::Info { .. } => self.jobs.iter_mut().flatten().for_each(|job| {
                    job.take();
                }),
                // Commands over several shards are not let into a transaction, and it holds no other.
                Part::Gather { .. }
                | Part::Begin { .. }
                | Part::Mute(_)
                | Part::Open
                | Part::Close(_)
                | Part::Late(..) => {}
            }
        }
    }

    fn reset(&mut self) {
        clear(&mut self.parts);
        clear(&mut self.local);
        clear(&mut self.fan);
        self.at = 0;
        self.local_taken = 0;
        let mut held = 0;
        for slot in &mut self.jobs {
            let Some(job) = slot else { continue };
            job.clear();
            held += job.held_bytes();
            // However many shards there are, a client that has asked all of them does not keep a lot for each.
            if held > KEEP_JOBS_BYTES_MAX {
                held -= job.held_bytes();
                *slot = None;
            }
        }
        self.kept_bytes = held;
        self.shared_bytes = 0;
    }
}

fn paused(shard: usize) -> Next {
    Next::Stop(Stitched::Paused(shard))
}
