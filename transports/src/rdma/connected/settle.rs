//! What a worker does after it took what came: that is posted again, and those who have used what they had may send
//! more.

use super::super::ended::Ended;
use super::super::verbs::Device;
use super::link::Link;
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
                is_needed |= link.take_used_up() && link.waits;
                if !std::mem::replace(&mut link.waits, true) {
                    self.waiting.push_back(index);
                }
            }
        }
        // Who was asked has the time until a peer that waits for more has used up what it has.
        let is_short = !self.serve();
        if self.shared.pool.missing() > 0 || is_short && (!self.ask_others() || is_needed) {
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
                    // The next one comes first when there are some again.
                    self.waiting.rotate_left(1);
                    return false;
                }
            }
            self.waiting.pop_front();
        }
        true
    }

    /// Asks those for credit who do not wait for more, or else those of whom nothing came since this was asked; says
    /// whether somebody has yet to answer.
    fn ask_others(&mut self) -> bool {
        self.ask(|link| !link.waits) || self.ask(Link::is_silent)
    }

    fn ask(&mut self, who: impl Fn(&mut Link<D>) -> bool) -> bool {
        let mut is_asking = false;
        for index in (0..).take(self.places.len()) {
            let Some(link) = self.places[usize::from(index)].link.as_mut() else { continue };
            let asks = who(link) && link.ask();
            is_asking |= link.is_asking();
            if asks {
                self.mark(index);
            }
        }
        is_asking
    }

    fn grow(&mut self) {
        if !self.memory.may_post() || self.memory.is_out && self.shared.pool.missing() == 0 {
            return;
        }
        let more = self.shared.pool.free() + 1;
        match self.shared.ensure(&self.device, &mut self.memory, more) {
            Ok(()) => {
                self.serve();
            }
            Err(ConnectionError::Device(error)) => self.fail_all(Ended::Device(error)),
            // They go on with what they have.
            Err(_) => self.memory.is_out = true,
        }
    }
}
