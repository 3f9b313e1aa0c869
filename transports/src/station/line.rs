//! One link to one node: a lane, and who waits at it.

use super::outgoing::Alone;
use super::pairing::Pairing;
use crate::link::{
    Address, CloseReason, Config, End, Envelope, Event, Kind, Lane, Receipt, SendError, Time,
};
use crate::secure::key::PublicKey;
use greenroom::net::{FrameBuf, Identity, LinkEnd, Order, SubmitError};
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The message that waits for all before it, by the number of its type.
const BEHIND_ALL: u16 = 1;

/// How long what was submitted may take to arrive after its owner has closed a line.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// See the [module](self).
pub(super) struct Line {
    pub(super) key: PublicKey,
    pub(super) peer: Identity,
    pub(super) lane: Lane,
    /// What is to leave before the lane is asked again.
    pub(super) alone: Option<Alone>,
    /// When the station looks at the lane; not later than the lane wants it.
    pub(super) deadline: Option<Time>,
    /// Whether the station is going to look at it.
    pub(super) is_touched: bool,
    /// Whether somebody can still receive from it.
    pub(super) is_owned: bool,
    /// Its queue pair, if there may be one, and what the lane is like without.
    pub(super) pairing: Option<Pairing>,
    pub(super) udp: Option<Config>,
    /// Whether its packets go by the queue pair.
    pub(super) is_paired: bool,
    phase: Phase,
    /// How its lane has ended, until that is noted.
    pub(super) lane_end: Option<End>,
    /// Frames that wait for all before them, by number.
    held: BTreeMap<u64, (Receipt, FrameBuf)>,
    /// How many frames are ahead of the first of these, once all of them have come.
    ahead: Option<usize>,
    /// What its reader was told as the last thing.
    told: Option<LinkEnd>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Whether a frame was refused, and nothing has been said of room since.
    is_full: bool,
    /// Whether there was room since its writer was last told, who may not know though a frame was refused again.
    had_room: bool,
}

/// Where a line is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Its owner has closed it: the other node is told when all has arrived, or by then.
    Closing(Time),
    Over(LinkEnd),
}

impl Line {
    pub(super) fn new(key: PublicKey, peer: Identity, lane: Lane) -> Self {
        Self {
            key,
            peer,
            lane,
            alone: None,
            deadline: None,
            is_touched: false,
            is_owned: false,
            pairing: None,
            udp: None,
            is_paired: false,
            phase: Phase::Open,
            lane_end: None,
            held: BTreeMap::new(),
            ahead: None,
            told: None,
            reader: None,
            writer: None,
            is_full: false,
            had_room: false,
        }
    }

    pub(super) fn submit(&mut self, order: Order, frame: &[u8]) -> Result<(), SubmitError> {
        if self.phase != Phase::Open {
            return Err(SubmitError::Ended);
        }
        let nobody = (Address::NOBODY, Address::default());
        let (kind, manifest, (from, to)) = match order {
            Order::Within(key) => (Kind::Tell, 0, (Address::default(), place(key))),
            Order::Free => (Kind::System, 0, nobody),
            // All that were submitted before is the most that an order can ask for.
            _ => (Kind::System, BEHIND_ALL, nobody),
        };
        let envelope = Envelope { to, from, kind, manifest, correlation: 0 };
        let sent = self.lane.send(&envelope, frame).map_err(|error| match error {
            SendError::Full(_) => SubmitError::Full,
            SendError::TooBig { .. } => SubmitError::TooLarge,
            SendError::Ended => SubmitError::Ended,
        });
        // What finds room does not say that what did not, such as a longer one, finds it too.
        self.is_full |= sent == Err(SubmitError::Full);
        sent
    }

    pub(super) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let had_room = std::mem::take(&mut self.had_room);
        if self.phase != Phase::Open || !self.is_full || had_room {
            return Poll::Ready(());
        }
        self.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(super) fn poll_receive(
        &mut self,
        now: Time,
        cx: &mut Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        if let Some(end) = self.told {
            return Poll::Ready(Err(end));
        }
        if matches!(self.phase, Phase::Closing(_)) {
            return self.tell_end(LinkEnd::Closed);
        }
        loop {
            if self.ahead.is_none() && self.is_first_held_due() {
                self.ahead = Some(self.lane.messages_ready());
            }
            if self.ahead == Some(0) {
                self.ahead = None;
                let Some((_, (receipt, bytes))) = self.held.pop_first() else { continue };
                *frame = bytes;
                return self.took(now, receipt);
            }
            let Some(delivery) = self.lane.poll_message(frame) else { break };
            self.ahead = self.ahead.map(|ahead| ahead - 1);
            if delivery.envelope.manifest != BEHIND_ALL {
                return self.took(now, delivery.receipt);
            }
            self.held.insert(delivery.number, (delivery.receipt, std::mem::take(frame)));
        }
        if let Phase::Over(why) = self.phase {
            return self.tell_end(why);
        }
        self.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Says so, and that there is nothing behind it.
    fn tell_end(&mut self, end: LinkEnd) -> Poll<Result<(), LinkEnd>> {
        self.told = Some(end);
        Poll::Ready(Err(end))
    }

    /// Whether all that was sent before the first frame that waits for it has come.
    fn is_first_held_due(&self) -> bool {
        let first = self.held.first_key_value();
        first.is_some_and(|(first, _)| {
            crate::planted!("station-held-early": self.lane.received() + 1 >= *first => true)
        })
    }

    fn took(&mut self, now: Time, receipt: Receipt) -> Poll<Result<(), LinkEnd>> {
        if crate::planted!("station-credit-kept": true => false) {
            self.lane.discard(now, receipt);
        }
        Poll::Ready(Ok(()))
    }

    /// Ends it from this end; the other node is told in time.
    pub(super) fn close(&mut self, now: Time, wakes: &mut Vec<Waker>) {
        if self.phase == Phase::Open {
            self.close_by(now + CLOSE_WITHIN, wakes);
        }
    }

    /// Ends it from this end, by that time at the latest.
    pub(super) fn close_by(&mut self, by: Time, wakes: &mut Vec<Waker>) {
        if !matches!(self.phase, Phase::Over(_)) {
            self.phase = Phase::Closing(by);
            self.wake(wakes);
        }
    }

    /// Passes on what has happened; whether the lane has something to send for it.
    pub(super) fn settle(&mut self, now: Time, wakes: &mut Vec<Waker>) -> bool {
        while let Some(event) = self.lane.poll_event() {
            match event {
                Event::Room | Event::MailboxRoom(_) => {
                    self.had_room |= std::mem::take(&mut self.is_full);
                    wakes.extend(self.writer.take());
                }
                Event::Ended(end) => {
                    self.lane_end = Some(end);
                    if self.phase == Phase::Open {
                        self.phase = Phase::Over(link_end(end));
                    }
                    self.wake(wakes);
                }
                _ => {}
            }
        }
        if self.lane.has_message() {
            wakes.extend(self.reader.take());
        }
        let Phase::Closing(by) = self.phase else { return false };
        let is_settled = self.lane.is_settled();
        let closes = is_settled || now >= by;
        if closes {
            // Who has not got everything must not hear that it has.
            let reason = if is_settled { CloseReason::Shutdown } else { CloseReason::Unsettled };
            self.phase = Phase::Over(LinkEnd::Closed);
            self.lane.close(now, reason);
        }
        closes
    }

    /// When it wants to be looked at.
    pub(super) fn timeout(&self) -> Option<Time> {
        let by = if let Phase::Closing(by) = self.phase { Some(by) } else { None };
        let pair = self.pairing.as_ref().and_then(|it| it.timeout(self.lane.oldest_under_way()));
        self.lane.timeout().into_iter().chain(by).chain(pair).min()
    }

    fn wake(&mut self, wakes: &mut Vec<Waker>) {
        wakes.extend(self.reader.take());
        wakes.extend(self.writer.take());
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether nothing more goes to the other node, or comes from it.
    pub(super) fn is_finished(&self) -> bool {
        self.lane.is_finished()
    }
}

/// The place of an order's key; distinct keys have distinct places.
fn place(key: u64) -> Address {
    let [a, b, c, d, e, f, g, h] = key.to_le_bytes();
    let slot = u32::from_le_bytes([a, b, c, d]);
    Address { slot, generation: u32::from_le_bytes([e, f, g, h]) }
}

pub(super) fn link_end(end: End) -> LinkEnd {
    match end {
        End::Closed(_) | End::ClosedByPeer(CloseReason::Shutdown) => LinkEnd::Closed,
        End::ClosedByPeer(CloseReason::Unsettled) | End::Reset | End::Superseded => LinkEnd::Lost,
        End::ClosedByPeer(_) => LinkEnd::Refused,
        End::Misbehaved(_) => LinkEnd::Misbehaved,
        End::Silent => LinkEnd::Silent,
    }
}
