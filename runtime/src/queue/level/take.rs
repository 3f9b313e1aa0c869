//! Waiting for places, and having them.

use super::{Level, Marks};
use crate::queue::permits::Taking;
use crate::queue::waiters::still_waits;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A wait for places.
#[derive(Debug)]
pub(crate) struct Take<'a, M: Marks> {
    pub(super) level: &'a Level,
    pub(super) count: usize,
    pub(super) marks: M,
    /// The place in the queue, until it is known to be served.
    pub(super) ticket: Option<u64>,
}

impl<'a, M: Marks + Unpin> Future for Take<'a, M> {
    type Output = Option<Places<'a, M>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (level, count, marks) = (self.level, self.count, self.marks);
        let taking = match self.ticket {
            Some(ticket) if still_waits(&level.queue, ticket, cx.waker()) => return Poll::Pending,
            Some(_) if level.is_closed() => Taking::Closed,
            Some(_) => Taking::Taken,
            None => match level.try_take(count, marks) {
                Taking::Short => match level.queue_up(count, cx.waker(), marks) {
                    Ok(taking) => taking,
                    Err(ticket) => {
                        self.ticket = Some(ticket);
                        return Poll::Pending;
                    }
                },
                taking => taking,
            },
        };
        self.ticket = None;
        Poll::Ready((taking == Taking::Taken).then(|| Places { level, count, marks }))
    }
}

impl<M: Marks> Drop for Take<'_, M> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.level.give_up(ticket, self.count, self.marks);
        }
    }
}

/// Places that are left when this is dropped.
#[derive(Debug)]
pub(crate) struct Places<'a, M: Marks> {
    level: &'a Level,
    count: usize,
    marks: M,
}

impl<'a, M: Marks> Places<'a, M> {
    /// Places that were taken anyway.
    pub(crate) fn taken(level: &'a Level, count: usize, marks: M) -> Self {
        Self { level, count, marks }
    }

    /// Takes them away; whoever has them leaves them by [`Level::give`].
    pub(crate) fn keep(mut self) {
        self.count = 0;
    }
}

impl<M: Marks> Drop for Places<'_, M> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.level.give(self.count, self.marks);
        }
    }
}
