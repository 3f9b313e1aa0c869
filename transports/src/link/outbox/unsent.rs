//! How much waits to be sent of long messages, each class by itself, and who is to be told when that is less. [LINK-47]

use super::super::envelope::Class;
use super::turns::{LINES, line_of};

/// Bytes of long messages that were never sent, of each class and length.
#[derive(Debug, Default)]
pub(in super::super) struct Unsent {
    bytes: [[u64; LINES]; 2],
    /// One was sent away for their sake, and its sender has to be told when no more than that is left.
    told_at: [[Option<u64>; LINES]; 2],
    /// The same, when there is nothing left that it was behind.
    told_at_none: [[bool; LINES]; 2],
}

impl Unsent {
    /// A message of that length has so many bytes more to send.
    pub(super) const fn add(&mut self, class: Class, len: u64, bytes: u64) {
        self.bytes[class as usize][line_of(len)] += bytes;
    }

    pub(super) const fn remove(&mut self, class: Class, len: u64, bytes: u64) {
        self.bytes[class as usize][line_of(len)] -= bytes;
    }

    /// Whether a message comes behind others of its class: a longer one behind such alone, since there may be shorter ones
    /// all the time. [LINK-48]
    pub(in super::super) fn has_before(&self, class: Class, len: u64) -> bool {
        self.has_in(class as usize, line_of(len))
    }

    fn has_in(&self, class: usize, line: usize) -> bool {
        self.bytes[class][line..].iter().any(|bytes| *bytes > 0)
    }

    /// Whether a message may wait behind those of its class and length, where about so much leaves soon; if not, somebody
    /// will have to be told, when half of that is sent. What waits here holds up all that comes behind it, and what waits at
    /// its sender nobody else.
    pub(in super::super) fn has_room(&mut self, class: Class, len: u64, soon: u64) -> bool {
        let (class, line) = (class as usize, line_of(len));
        let has_room = self.bytes[class][line] < soon;
        let has_room = crate::planted!("link-unsent-unbounded": has_room => true);
        if !has_room {
            let told_at = &mut self.told_at[class][line];
            *told_at = (*told_at).max(Some(soon / 2));
        }
        has_room
    }

    /// Somebody has to be told when nothing is left that a message of that length comes behind.
    pub(in super::super) const fn tell_at_none(&mut self, class: Class, len: u64) {
        self.told_at_none[class as usize][line_of(len)] = true;
    }

    /// Says once that it is so.
    pub(in super::super) fn has_caught_up(&mut self) -> bool {
        let mut has = false;
        for class in 0..self.bytes.len() {
            for line in 0..LINES {
                let bytes = self.bytes[class][line];
                has |= self.told_at[class][line].take_if(|at| bytes <= *at).is_some();
                if self.told_at_none[class][line] && !self.has_in(class, line) {
                    self.told_at_none[class][line] = false;
                    has = true;
                }
            }
        }
        has
    }
}
