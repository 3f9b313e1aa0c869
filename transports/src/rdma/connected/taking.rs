//! How packets are taken: where they lie, before anything is asked of the device.

use super::super::ended::Ended;
use super::super::verbs::{Completion, CompletionQueue, Device, Direction};
use super::ending::failure;
use super::link::Link;
use super::{Came, Connected, ConnectionId};

impl<D: Device> Connected<D> {
    /// Hands in packets that came, where they lie, at most 32; says how many. All that is asked of the device is asked
    /// after `sink` is dropped. The memory is received into again after the call, unless it was [lent](crate::link::Lend); if
    /// `sink` panics, that of its packet is not.
    pub fn poll(&mut self, mut sink: impl FnMut(ConnectionId, &mut Came<'_, D>)) -> usize {
        self.collect();
        let polled = self.completions.poll(&mut self.batch);
        self.has_taken = polled.is_ok_and(|count| count > 0);
        let mut packets = 0;
        for at in 0..polled.unwrap_or(0) {
            let completion = self.batch[at];
            packets += usize::from(self.on_completion(&completion, &mut sink));
        }
        drop(sink);
        self.drain_failed();
        if let Err(error) = polled {
            self.fail_all(Ended::Device(error));
            return 0;
        }
        if self.has_taken {
            self.reap();
            self.settle();
            self.make_room_to_lend();
        }
        packets
    }

    /// Says whether it was a packet.
    fn on_completion(
        &mut self,
        completion: &Completion,
        sink: &mut impl FnMut(ConnectionId, &mut Came<'_, D>),
    ) -> bool {
        match completion.work.direction() {
            Direction::Send => {
                self.on_sent(completion);
                false
            }
            Direction::Receive => self.on_received(completion, sink),
        }
    }

    fn on_sent(&mut self, completion: &Completion) {
        let index = completion.work.owner();
        let place = self.places.get_mut(usize::from(index)).and_then(|it| it.link.as_mut());
        let owns = |link: &&mut Link<D>| link.owns(completion);
        let Some(link) = place.filter(owns) else {
            let mut left = self.leaving.iter_mut().chain(&mut self.failed);
            let left = left.find(owns);
            return left.into_iter().for_each(|it| it.on_sent(completion, &mut self.memory.spare));
        };
        if let Some(why) = failure(completion) {
            return self.fail_later(index, why);
        }
        link.on_sent(completion, &mut self.memory.spare);
        self.mark(index);
    }

    fn on_received(
        &mut self,
        completion: &Completion,
        sink: &mut impl FnMut(ConnectionId, &mut Came<'_, D>),
    ) -> bool {
        let Some(slot) = self.shared.received(completion) else { return false };
        // Where there is no more memory, those who wait for more come first.
        let is_needed = self.memory.is_out && !self.waiting.is_empty();
        let spare = if is_needed { 0 } else { self.memory.spare.len() };
        let mut came = Came::new(slot, &mut self.lending, spare);
        // What comes for a connection that has ended is nobody's, but for the memory.
        let mut is_packet = Ok(false);
        if let Some(&index) = self.routes.get(&completion.qpn)
            && let Some(place) = self.places.get_mut(usize::from(index))
            && let Some(link) = &mut place.link
        {
            // Also if `sink` panics.
            if !std::mem::replace(&mut link.dirty, true) {
                self.dirty.push(index);
            }
            let id = ConnectionId { index, use_count: place.use_count };
            let pool = &mut self.shared.pool;
            is_packet = failure(completion)
                .map_or_else(|| link.on_received(completion, &mut came, pool), Err);
            if is_packet == Ok(true) {
                sink(id, &mut came);
            }
        }
        let slot = came.into_slot();
        // There is another one for each that is lent.
        if let Some(slot) = slot.or_else(|| self.memory.spare.pop()) {
            self.shared.post(slot, &mut self.memory);
        }
        if let (Err(why), Some(&index)) = (is_packet, self.routes.get(&completion.qpn)) {
            self.fail_later(index, why);
        }
        is_packet.unwrap_or(false)
    }
}
