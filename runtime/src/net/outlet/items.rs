//! How items of streams leave: as there is room, and no sooner than the short frames that the node itself has to say.

use super::Outlet;
use crate::net::streams::Streams;
use crate::net::transport::{Order, SubmitError};
use std::task::Waker;

/// The orders of streams, apart from those of actors, whose numbers are never so high.
const STREAM_ORDER: u64 = 1 << 63;

impl Outlet {
    /// The streams of the connection.
    pub(in crate::net) const fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Sends a frame of a stream, by its number. Where there is no room, `waker` is woken when it is worth another try.
    ///
    /// # Errors
    /// As [`Link::submit`](crate::net::Link::submit); nobody reports it.
    pub(in crate::net) fn post_item(
        &self,
        stream: u64,
        frame: &[u8],
        waker: &Waker,
    ) -> Result<(), SubmitError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SubmitError::Ended);
        }
        let submitted = if state.backlog.lets_pass() {
            self.link.submit(Order::Within(STREAM_ORDER | stream), frame)
        } else {
            Err(SubmitError::Full)
        };
        match submitted {
            Ok(()) => state.submitted += 1,
            Err(SubmitError::Full) => {
                // The peer may make it try again as often as it grants more: it waits once.
                state.waiting_streams.insert(stream, waker.clone());
                let pump = state.pump.take();
                drop(state);
                pump.into_iter().for_each(Waker::wake);
            }
            Err(_) => {}
        }
        submitted
    }
}
