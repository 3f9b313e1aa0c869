//! A client's connection without its socket: bytes in, a turn's jobs out, replies back.
//!
//! ```text
//! fill -> parse -> jobs() .. put_back() -> stitch -> out -> again
//! ```

use super::budget::weight;
use super::client::Event;
use super::job::{Job, KEEP_BYTES_MAX, clear, held};
use super::resp::{Proto, Request, Requests, Span};
use super::session::Session;
use super::shared::Limits;
use super::stats::Cut;
use super::stitch::Stitched;
use super::store::Args;
use super::turn::Turn;

/// Commands taken into one turn: what one client can make a shard do before it is another's turn.
const COMMANDS_MAX: usize = 512;
/// Bytes of replies without a shard after which a turn ends; those of shards make them pause.
const LOCAL_BYTES_MAX: usize = 1 << 20;
/// Bytes of replies and messages that are gathered before they are written.
const WRITE_BYTES: usize = 64 * 1024;
/// Bytes read at one time.
const READ_BYTES: usize = 16 * 1024;

/// The state of a conversation with one client.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) session: Session,
    requests: Requests,
    input: Vec<u8>,
    spans: Vec<Span>,
    turn: Turn,
    out: Vec<u8>,
    /// The last parse stopped for its limit, not for want of bytes.
    has_more: bool,
    /// Why the client is cut off once its replies are written.
    pub(crate) cut: Option<Cut>,
    /// What it has not been answered yet it never will be.
    is_silent: bool,
}

impl Conversation {
    pub(crate) fn new(session: Session) -> Self {
        let shared = &session.shared;
        let turn = Turn::new(shared.watcher(session.client.id), shared.layout.clone());
        Self {
            session,
            requests: Requests::default(),
            input: Vec::new(),
            spans: Vec::new(),
            turn,
            out: Vec::new(),
            has_more: false,
            cut: None,
            is_silent: false,
        }
    }

    /// Returns the buffer to read into, with room.
    pub(crate) fn input(&mut self) -> &mut Vec<u8> {
        // A long argument is read in pieces that grow with it; what is only announced takes no memory.
        let step = self.input.len().clamp(READ_BYTES, 1 << 20);
        if self.input.capacity() - self.input.len() < READ_BYTES {
            self.input.reserve(step);
        }
        &mut self.input
    }

    /// Returns whether commands may be left in the buffer, so that nothing need be read for the next turn.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Tells that bytes came beside the turn, which may be commands.
    pub(crate) fn expect_more(&mut self) {
        self.has_more = true;
    }

    /// Returns whether a command has begun to arrive.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial_bytes() > 0
    }

    /// Returns the bytes that came and were not taken into a turn.
    pub(crate) fn partial_bytes(&self) -> usize {
        self.input.len() - self.requests.complete()
    }

    /// Takes commands into the turn; returns how many.
    pub(crate) fn parse(&mut self) -> usize {
        let mut count = 0;
        self.has_more = false;
        if self.input.len() < self.requests.needed() {
            return 0;
        }
        while !self.session.is_closing && !self.has_more {
            match self.requests.next(&mut self.input, &mut self.spans) {
                Ok(Request::Complete) if is_http(Args::new(&self.input, &self.spans)) => {
                    self.session.is_closing = true;
                    self.cut = Some(Cut::Protocol);
                    self.is_silent = true;
                    count += 1;
                }
                Ok(Request::Complete) => {
                    let args = Args::new(&self.input, &self.spans);
                    self.turn.pushes = self.session.proto;
                    self.session.plan(args, &mut self.turn);
                    self.spans.clear();
                    count += 1;
                    self.has_more = count == COMMANDS_MAX || self.ends_turn();
                }
                Ok(Request::Partial) => break,
                Err(error) => {
                    self.turn.local(self.session.proto, |reply| reply.error_bytes(&error.text()));
                    self.session.is_closing = true;
                    self.cut = Some(Cut::Protocol);
                    count += 1;
                }
            }
        }
        self.drop_read();
        if self.partial_bytes() >= Limits::QUERY_BYTES_MAX {
            self.session.is_closing = true;
            self.cut = Some(Cut::Oversize);
        }
        count
    }

    /// Returns whether the next command is one for another turn.
    fn ends_turn(&self) -> bool {
        let is_long = self.turn.local_bytes() >= LOCAL_BYTES_MAX;
        is_long
            || self.session.is_undecided()
            || (self.session.wants_a_turn() && !self.turn.is_answered())
    }

    /// Takes the bytes of complete commands out of the buffer.
    fn drop_read(&mut self) {
        let done = self.requests.complete();
        // With commands left they stay until they are half of the buffer: moved after every turn, the rest of a long
        // pipeline would be moved hundreds of times.
        if done == 0 || (self.has_more && done < self.input.len() / 2) {
            return;
        }
        clear(&mut self.spans);
        self.requests.restart();
        if done >= self.input.len() {
            clear(&mut self.input);
        } else {
            self.input.drain(..done);
            // What is left may be one byte, and a client may leave it so.
            let room = self.input.len().max(KEEP_BYTES_MAX) * 2;
            if self.input.capacity() > room {
                self.input.shrink_to(room);
            }
        }
    }

    /// Returns the bytes that are allocated.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        let own = self.input.capacity() + held(&self.spans) + self.out.capacity();
        own + self.turn.held_bytes()
    }

    /// Returns about what is held between turns.
    pub(crate) fn idle_bytes(&self) -> usize {
        let buffers = weight(&self.input, KEEP_BYTES_MAX) + weight(&self.out, KEEP_BYTES_MAX);
        buffers + held(&self.spans) + self.turn.idle_bytes() + self.session.held_bytes()
    }

    /// Returns about what is held while a turn is under way, beside its output.
    pub(crate) fn busy_bytes(&self) -> usize {
        let input = weight(&self.input, KEEP_BYTES_MAX) + held(&self.spans);
        input + self.turn.weight() + self.session.held_bytes()
    }

    /// Gives back what is held and not needed between turns.
    pub(crate) fn shrink(&mut self) {
        self.input.shrink_to_fit();
        self.spans.shrink_to_fit();
        self.out = Vec::new();
        self.turn.discard();
    }

    /// Gives back all that is held; nothing of it will be needed.
    pub(crate) fn discard(&mut self) {
        (self.input, self.spans, self.out) = (Vec::new(), Vec::new(), Vec::new());
        self.turn.discard();
    }

    /// Takes the jobs of the turn that have something to run.
    pub(crate) fn jobs(&mut self) -> impl Iterator<Item = (usize, Box<Job>)> {
        self.turn.take_jobs()
    }

    /// Takes the job of one shard.
    pub(crate) fn job(&mut self, shard: usize) -> Option<Box<Job>> {
        self.turn.take_job(shard)
    }

    /// Puts back a job that was run.
    pub(crate) fn put_back(&mut self, shard: usize, job: Box<Job>) {
        self.turn.put_back(shard, job);
    }

    /// Ends the conversation: returns what the shards must be told of it.
    pub(crate) fn end(&mut self) -> Vec<(usize, Box<Job>)> {
        let (shared, client) = (&self.session.shared, self.session.client.id);
        let mut last = Turn::new(shared.watcher(client), shared.layout.clone());
        self.session.end_watches(&mut last);
        last.take_jobs().collect()
    }

    /// Moves replies into the output, in order, as far as they are there.
    pub(crate) fn stitch(&mut self) -> Stitched {
        let stitched = self.turn.stitch(&mut self.out);
        if let Stitched::Done = stitched {
            let is_refused = self.turn.take_refused();
            self.session.settle(is_refused, &self.turn.take_missed());
        }
        self.drop_unheard();
        stitched
    }

    /// Returns whether there is enough to be written before more is added: all of it but a reply that is not whole.
    pub(crate) fn is_long(&mut self) -> bool {
        self.drop_unheard();
        self.out.len() >= WRITE_BYTES && !self.is_within_reply()
    }

    /// Takes out of the output what the client is not to get.
    fn drop_unheard(&mut self) {
        self.turn.drop_muted(&mut self.out);
        if self.is_silent {
            self.out.clear();
        }
    }

    /// Returns whether the output ends within a reply that is not to be parted.
    pub(crate) fn is_within_reply(&self) -> bool {
        self.turn.whole_from.is_some()
    }

    /// Returns what is to be written.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Empties the output, which was written.
    pub(crate) fn written(&mut self) {
        clear(&mut self.out);
    }

    /// Appends a message from a channel. One that comes within a reply is set aside until that is whole.
    pub(crate) fn push(&mut self, event: &Event, proto: Proto) {
        if self.is_within_reply() {
            self.turn.aside.push(event, proto);
        } else {
            event.write(&mut self.out, proto);
        }
    }

    /// Notes that the client begins or ends to listen, if it does within a reply.
    pub(crate) fn note_listen(&mut self, names: &[Box<[u8]>], patterns: bool, listen: bool) {
        if self.is_within_reply() {
            self.turn.aside.listen(names, patterns, listen);
        }
    }
}

/// Returns whether a command is a line of an HTTP request: a web page may send one to any port of the machine that it
/// is read on, with commands in its body.
fn is_http(args: Args<'_>) -> bool {
    let name = args.get(0);
    name.eq_ignore_ascii_case(b"POST") || name.eq_ignore_ascii_case(b"Host:")
}
