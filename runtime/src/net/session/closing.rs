//! What a peer sent before it closed the connection has some time to find room.
//!
//! Nobody hears of the end of a connection before its last message is handed in, or lost. An actor that takes no mail must not
//! keep it from all others for ever.

use super::Session;
use crate::sync::planted;
use crate::task::core::{Alarm, AlarmKey};
use crate::time::Time;
use std::task::Waker;
use std::time::Duration;

/// For how long messages of a connection that the peer has closed may wait for room. [G-REMOTE-4]
const CLOSING: Duration = Duration::from_secs(10);

/// Until when they may.
pub(super) struct Closing {
    until: Time,
    alarm: AlarmKey,
}

impl Session {
    /// Whether messages wait for room though the peer has closed, and may go on: not when this node is leaving, too. `waker` is
    /// woken when their time is over.
    pub(super) fn goes_on_closing(&mut self, waker: &Waker) -> bool {
        if self.outlet.has_hung_up() || self.held.is_empty() {
            return false;
        }
        let core = self.outlet.core();
        let now = core.clock.now();
        let closing = self.closing.get_or_insert_with(|| {
            let until = now.after(CLOSING);
            Closing { until, alarm: core.set_alarm(until, Alarm::Wake(waker.clone())) }
        });
        planted!("net-closed-waits-on": now < closing.until => true)
    }

    /// The session ends: nobody waits for that time any more.
    pub(super) fn stop_closing(&mut self) {
        if let Some(Closing { alarm, .. }) = self.closing.take() {
            self.outlet.core().cancel_alarm(alarm);
        }
    }
}
