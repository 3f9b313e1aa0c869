//! What a client has queued between `MULTI` and `EXEC`.

use std::sync::Arc;

use super::command::Spec;
use super::resp::Span;
use super::shared::{Limits, Shared};
use super::store::{Args, Error};

/// Commands between `MULTI` and `EXEC`.
#[derive(Debug)]
pub(crate) struct Transaction {
    shared: Arc<Shared>,
    arena: Vec<u8>,
    spans: Vec<Span>,
    commands: Vec<(&'static Spec, usize)>,
    /// Bytes of all this that are counted as queued on the server.
    bytes: usize,
    /// The shard of the keys so far.
    pub(super) home: Option<usize>,
    /// A command was refused, so `EXEC` will be.
    pub(super) is_broken: bool,
    /// One of the commands is the connection's own.
    pub(super) has_own: bool,
}

impl Transaction {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            arena: Vec::new(),
            spans: Vec::new(),
            commands: Vec::new(),
            bytes: 0,
            home: None,
            is_broken: false,
            has_own: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns what is counted of it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a command, unless there is no room for it. One that is broken keeps none: nothing of it will run.
    pub(super) fn push(&mut self, spec: &'static Spec, args: Args<'_>) -> Result<(), Error> {
        let bytes = args.extent() + args.len() * size_of::<Span>() + size_of::<(&Spec, usize)>();
        self.check_room(bytes)?;
        if self.is_broken {
            return Ok(());
        }
        self.shared.queued.add(bytes as u64);
        self.bytes += bytes;
        self.commands.push((spec, args.len()));
        self.has_own |= spec.run().is_none();
        args.copy_to(&mut self.arena, &mut self.spans);
        Ok(())
    }

    fn check_room(&self, bytes: usize) -> Result<(), Error> {
        let shared = &self.shared;
        // Spans count to 4 GiB, and an arena that was doubled may be twice as long.
        if self.bytes + bytes > Limits::QUERY_BYTES_MAX {
            return Err(Error::LONG_TRANSACTION);
        }
        let held = shared.memory_used.get().saturating_add(shared.queued.get());
        let limit = shared.memory_max.get();
        if limit > 0 && held.saturating_add(bytes as u64) > limit {
            return Err(Error::OUT_OF_MEMORY);
        }
        Ok(())
    }

    /// Has `EXEC` refused, and forgets what will not run.
    pub(super) fn abandon(&mut self) {
        let mut empty = Self::new(Arc::clone(&self.shared));
        (empty.home, empty.is_broken) = (self.home, true);
        *self = empty;
    }

    /// Returns the commands in the order they came.
    pub(super) fn commands(&self) -> Vec<(&'static Spec, Args<'_>)> {
        let mut first = 0;
        let commands = self.commands.iter().map(|(spec, words)| {
            let spans = self.spans.get(first..first + words).unwrap_or_default();
            first += words;
            (*spec, Args::new(&self.arena, spans))
        });
        commands.collect()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.shared.queued.subtract(self.bytes as u64);
    }
}
