//! Whether a message is taken for the peer.
//!
//! Short messages leave before long ones. They still have to be taken, and what is taken has its place in the peer's credit before
//! all that is taken later; so long messages are taken little by little, those of each class apart. The decision on long
//! messages in the book has the figures.

use super::super::config::MESSAGE_COST;
use super::super::envelope::Class;
use super::{Full, Lane};

/// So many bytes of long messages may wait to be sent though the window is small: less would have their senders woken for
/// each message.
const SOON_BYTES_MIN: u64 = 128 << 10;

/// A long message behind other long ones leaves this part of the first window to what is shorter.
const RESERVE_PART: u64 = 8;

impl Lane {
    /// Whether the lane takes a message of that length, its receiver's mailbox apart. Who is sent away is told when there is
    /// room.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn room_for(
        &mut self,
        class: Class,
        len: usize,
        in_pieces: bool,
    ) -> Result<(), Full> {
        if !self.has_credit(class, in_pieces, len) {
            return Err(Full::Lane);
        }
        if !self.outbox.has_room() || in_pieces && !self.has_room_for_long(class, len) {
            return Err(Full::Window);
        }
        Ok(())
    }

    /// Whether the peer's credit lets a message be taken. A long one behind other long ones leaves some to what is shorter,
    /// which would otherwise wait until all of that has left; but one alone does not, or short ones could hold it up.
    /// [LINK-48]
    fn has_credit(&mut self, class: Class, is_long: bool, len: usize) -> bool {
        let is_behind = is_long && self.outbox.unsent.has_before(class, len as u64);
        let is_behind = crate::planted!("link-credit-unreserved": is_behind => false);
        let reserve = self.config.window_bytes_start / RESERVE_PART;
        let needed = if is_behind { reserve + MESSAGE_COST + len as u64 } else { 1 };
        let has_credit = self.spends[class as usize].has_room(needed);
        if is_behind && !has_credit {
            self.outbox.unsent.tell_at_none(class, len as u64);
        }
        has_credit
    }

    /// Whether a long message may wait behind those of its length that wait to be sent. [LINK-47]
    fn has_room_for_long(&mut self, class: Class, len: usize) -> bool {
        let soon = self.congestion_window().saturating_mul(2).max(SOON_BYTES_MIN);
        self.outbox.unsent.has_room(class, len as u64, soon)
    }
}
