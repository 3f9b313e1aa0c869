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

    /// Sends a frame of a stream, by its number. Where there is no room, `waker` is woken when it is worth another try;
    /// `served` is this stream's alone, 0 at first, and says whose turn it is then. Who was woken tries again, or leaves.
    ///
    /// # Errors
    /// As [`Link::submit`](crate::net::Link::submit); nobody reports it.
    pub(in crate::net) fn post_item(
        &self,
        stream: u64,
        frame: &[u8],
        waker: &Waker,
        served: &mut u64,
    ) -> Result<(), SubmitError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SubmitError::Ended);
        }
        let order = STREAM_ORDER | stream;
        let (len, submitted) = (frame.len(), state.submitted);
        let place = state.waiting.come(served, order, len, submitted);
        if !place.is_first {
            state.waiting.wait(&place, Some(waker));
            return Err(SubmitError::Full);
        }
        let submitted = if state.backlog.lets_pass() {
            self.link.submit(Order::Within(order), frame)
        } else {
            Err(SubmitError::Full)
        };
        let woken = if submitted == Err(SubmitError::Full) {
            // The peer may make it try again as often as it grants more: it waits once.
            state.waiting.wait(&place, Some(waker));
            state.pump.take()
        } else {
            if submitted.is_ok() {
                state.submitted += 1;
                *served = state.submitted;
            }
            state.waiting.pass(&place)
        };
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        submitted
    }

    /// Nothing of a stream waits for room any more.
    pub(in crate::net) fn leave_stream(&self, stream: u64, served: u64) {
        let next = self.state.lock().waiting.leave(served, STREAM_ORDER | stream);
        next.into_iter().for_each(Waker::wake);
    }
}
