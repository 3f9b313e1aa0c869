//! The store in PostgreSQL, for actors of more than one machine.
//!
//! ```text
//! greenroom_stream    key            -> epoch, last
//! greenroom_event     key, sequence  -> name, version, payload
//! greenroom_snapshot  key            -> sequence, version, payload
//! ```
//!
//! A commit is one transaction. It locks the rows of its keys, in the order of the keys so that no two
//! transactions wait for each other, compares epochs and sequences with what they say, and writes what fits.
//! Whoever claims a key waits for the lock, so it sees all that was written under earlier epochs, and
//! nothing more is.

mod plan;
mod session;

use super::error::StoreError;
use super::store::{Record, Refused, Snapshot, Store, Write, Written};
use crate::sync::thread;
use ::postgres::{Client, Config, Error, NoTls};
use session::{Failure, Session};
use std::fmt;

/// Connects to the server.
type Connect = Box<dyn FnMut() -> Result<Client, Error> + Send>;

/// A store in a PostgreSQL database, which several machines may use at a time.
///
/// It makes its three tables, `greenroom_stream`, `greenroom_event` and `greenroom_snapshot`, in the first
/// schema of the search path. A connection that is lost is made anew, and what did not reach its `COMMIT` is
/// sent again; a `COMMIT` without an answer is a failed write, because it may have been carried out.
///
/// How durable a commit is, is the server's `synchronous_commit`: leave it on.
pub struct Postgres {
    connect: Connect,
    session: Option<Session>,
}

impl Postgres {
    /// Connects to the server that `url` names, such as `postgres://user:password@host/database`, without
    /// TLS. Blocks.
    ///
    /// # Errors
    /// [`StoreError`] when the text is no such address, or the server does not let us in.
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        let config: Config = url.parse().map_err(|error| failed(&error))?;
        Self::connect_by(move || config.connect(NoTls))
    }

    /// Connects by a function of yours, for TLS and other settings. It is called again whenever the
    /// connection is lost, from a thread that no tokio runtime has. Blocks.
    ///
    /// # Errors
    /// [`StoreError`] when it fails, or the tables cannot be made.
    pub fn connect_by(
        connect: impl FnMut() -> Result<Client, Error> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let mut store = Self { connect: Box::new(connect), session: None };
        // The client blocks on a runtime of its own, which it cannot where the caller is inside one.
        let connecting = thread::Builder::new().spawn(move || {
            store.session()?.make_tables()?;
            Ok(store)
        });
        let connecting = connecting.map_err(|error| StoreError::new(error.to_string()))?;
        connecting.join().unwrap_or_else(|_| Err(StoreError::new("connecting panicked")))
    }

    /// The session, made anew if it is lost.
    fn session(&mut self) -> Result<&mut Session, StoreError> {
        if self.session.as_ref().is_none_or(Session::is_closed) {
            let client = (self.connect)().map_err(|error| failed(&error))?;
            self.session = Some(Session::new(client));
        }
        self.session.as_mut().ok_or_else(|| StoreError::new("there is no connection"))
    }

    /// Does `work`, and once more if that can help.
    fn with_session<T>(
        &mut self,
        mut work: impl FnMut(&mut Session) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let first = work(self.session()?);
        let outcome = match first {
            Err(Failure::Undone(_)) => {
                self.session = None;
                work(self.session()?)
            }
            other => other,
        };
        outcome.map_err(Failure::into_error)
    }
}

impl Store for Postgres {
    fn commit(&mut self, writes: &[Write]) -> Result<Vec<Result<Written, Refused>>, StoreError> {
        self.with_session(|session| session.commit(writes))
    }

    fn snapshot(&mut self, key: &str) -> Result<Option<Snapshot>, StoreError> {
        self.with_session(|session| session.snapshot(key))
    }

    fn read(
        &mut self,
        key: &str,
        after: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Record)>, StoreError> {
        self.with_session(|session| session.read(key, after, bytes_max))
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

/// The server's own text, which the error itself leaves out.
fn failed(error: &Error) -> StoreError {
    match error.as_db_error() {
        Some(server) => StoreError::new(server.to_string()),
        None => StoreError::new(match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }),
    }
}
