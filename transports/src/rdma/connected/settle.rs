//! What a worker does after it took what came: that is posted again, and those who have used what they had may send
//! more.

use super::super::ended::Ended;
use super::super::verbs::Device;
use super::{Connected, ConnectionError};

impl<D: Device> Connected<D> {
    /// Posts again what came, and lets peers send more.
    pub(super) fn settle(&mut self) {
        if let Err(error) = self.shared.ring() {
            return self.fail_all(Ended::Device(error));
        }
        let mut is_needed = false;
        for &index in &self.dirty {
            let Some(link) = self.places[usize::from(index)].link.as_mut() else { continue };
            if link.on_posted() {
                is_needed |= link.waits;
                if !std::mem::replace(&mut link.waits, true) {
                    self.waiting.push_back(index);
                }
            }
        }
        // Who was asked has the time until a peer that waits for more has used up what it has.
        let is_short = !self.serve();
        if self.shared.pool.missing() > 0 || is_short && (!self.ask() || is_needed) {
            self.grow();
        }
    }

    /// Gives credit to those who wait for it, as far as there is some; says whether it was enough.
    fn serve(&mut self) -> bool {
        while let Some(&index) = self.waiting.front() {
            if let Some(link) = self.places[usize::from(index)].link.as_mut() {
                let is_served = link.grant(&mut self.shared.pool);
                link.waits = !is_served;
                self.mark(index);
                if !is_served {
                    return false;
                }
            }
            self.waiting.pop_front();
        }
        true
    }

    /// Asks those for credit who do not wait for more; says whether there was anybody.
    fn ask(&mut self) -> bool {
        let mut has_asked = false;
        for index in (0..).take(self.places.len()) {
            let link = self.places[usize::from(index)].link.as_mut();
            if link.is_some_and(|link| !link.waits && link.ask()) {
                has_asked = true;
                self.mark(index);
            }
        }
        has_asked
    }

    fn grow(&mut self) {
        if self.is_out {
            return;
        }
        let more = self.shared.pool.free() + 1;
        match self.shared.ensure(&self.device, &mut self.memory, more) {
            Ok(()) => {
                self.serve();
            }
            Err(ConnectionError::Device(error)) => self.fail_all(Ended::Device(error)),
            // They go on with what they have.
            Err(_) => self.is_out = true,
        }
    }
}
