//! Taking many values at once.

use super::{Indexed, Layout, Receiver};

/// What was flushed until [`Receiver::drain`] was called.
#[derive(Debug)]
pub struct Drain<'a, T: Send, L: Layout = Indexed>(&'a mut Receiver<T, L>);

impl<'a, T: Send, L: Layout> Drain<'a, T, L> {
    pub(super) fn new(receiver: &'a mut Receiver<T, L>) -> Self {
        Self(receiver)
    }
}

impl<T: Send, L: Layout> Iterator for Drain<'_, T, L> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let next = self.0.poll();
        if next.is_none() {
            self.0.give_room();
        }
        next
    }

    #[inline]
    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut add: F) -> B {
        let receiver = self.0;
        let mut folded = init;
        'all: while receiver.head != receiver.stop || receiver.advance() {
            while receiver.head != receiver.stop {
                match receiver.poll() {
                    Some(value) => folded = add(folded, value),
                    None => break 'all,
                }
            }
        }
        receiver.give_room();
        folded
    }
}
