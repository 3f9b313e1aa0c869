//! How a client gets its replies: in pieces, between which others have their turn.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::{CLOSE_TIMEOUT, Connection, UNPAUSED_MAX};
use crate::kv::shared::Limits;
use crate::kv::stats::Cut;

/// Bytes written before others have a turn.
pub(super) const PIECE_BYTES: usize = 64 * 1024;
/// How often to look whether there is room again for what a client sends before it reads.
const ROOM_INTERVAL: Duration = Duration::from_millis(100);

impl Connection {
    /// Writes what there is, if that is enough for one time and does not end within a reply.
    pub(super) async fn write_if_long(&mut self) -> Result<(), Cut> {
        if self.conversation.is_long() { self.write().await } else { Ok(()) }
    }

    /// Writes all replies; the client has a limited time to take them.
    pub(super) async fn write(&mut self) -> Result<(), Cut> {
        let out = std::mem::take(self.conversation.out());
        let mut done = 0;
        while done < out.len() {
            let piece = PIECE_BYTES.min(out.len() - done);
            match self.stream.try_write(&out[done..done + piece]) {
                Ok(0) => return Err(Cut::Broken),
                Ok(count) => {
                    done += count;
                    if count == piece && done < out.len() {
                        self.give_way(out.len()).await?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait_for_reader(out.len()).await?;
                }
                Err(_) => return Err(Cut::Broken),
            }
        }
        self.traffic.bytes_out += done as u64;
        *self.conversation.out() = out;
        self.conversation.written();
        Ok(())
    }

    /// Lets others on this worker go first if this has gone on for long: who sends without a pause is never waited for.
    pub(super) async fn pace(&mut self) -> Result<(), Cut> {
        self.unpaused += 1;
        if self.unpaused < UNPAUSED_MAX {
            return Ok(());
        }
        self.unpaused = 0;
        self.give_way(0).await
    }

    /// Lets others on this worker go first: a client that reads as fast as this writes is one of many.
    async fn give_way(&mut self, out_bytes: usize) -> Result<(), Cut> {
        self.hold(out_bytes + self.conversation.busy_bytes());
        let mut has_waited = false;
        // A handler that wakes itself goes behind those that are ready.
        poll_fn(|cx| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        self.check_cut()
    }

    /// Waits until the client has read something of `out_bytes`, its time is up, or it is cut off.
    ///
    /// What it sends meanwhile is taken in: a client that writes all its commands before it reads a reply would wait for
    /// this end as this end for it. It is given time as long as it sends, if not too slowly.
    async fn wait_for_reader(&mut self, out_bytes: usize) -> Result<(), Cut> {
        let limit = self.backend.shared.limits.write_timeout;
        let client = Arc::clone(&self.conversation.session.client);
        let (begun, mut last) = (Instant::now(), Instant::now());
        let (mut came, mut has_ended) = (0, false);
        loop {
            self.hold(out_bytes + self.conversation.busy_bytes());
            let earned = Duration::from_secs(came / Limits::REQUEST_BYTES_PER_S);
            let left = limit.saturating_add(earned).saturating_sub(begun.elapsed());
            let left = left.min(limit.saturating_sub(last.elapsed()));
            let has_room = self.ahead.has_room();
            let is_read_from = has_room && !has_ended && !self.is_told_for(CLOSE_TIMEOUT);
            // Nobody says when others have made room.
            let pause = if has_room { left } else { left.min(ROOM_INTERVAL) };
            let (mut reader, writer) = self.stream.split();
            let count = tokio::select! {
                biased;
                () = client.until_cut() => return Err(client.is_cut().unwrap_or(Cut::Broken)),
                ready = writer.writable() => return ready.map_err(|_| Cut::Broken),
                count = reader.read_buf(self.conversation.input()), if is_read_from => {
                    count.map_err(|_| Cut::Broken)?
                }
                () = tokio::time::sleep(pause), if pause < left => continue,
                () = tokio::time::sleep(left) => return Err(Cut::SlowReader),
            };
            // Who has no more to say may yet read.
            has_ended = count == 0;
            came += count as u64;
            last = Instant::now();
            self.traffic.bytes_in += count as u64;
            self.ahead.add(count);
            self.conversation.expect_more();
            client.shown.lock().query_bytes = self.conversation.partial_bytes();
        }
    }
}
