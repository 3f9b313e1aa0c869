//! What it costs to give an actor the bytes of a message that lies in a slot of an RDMA device: as a copy, or as the slot
//! itself, which another one stands in for until it comes back. Arguments: how many, bytes of each (16000), `copy` or `slot`,
//! and how many an actor holds at a time (1).
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example slot_cost
//! valgrind --tool=callgrind --callgrind-out-file=few target/release/examples/slot_cost 10000 16000 slot
//! valgrind --tool=callgrind --callgrind-out-file=many target/release/examples/slot_cost 20000 16000 slot
//! ```
//!
//! The difference of the two counts of instructions, over 10,000, is what one costs. Slots are the simulated device's, 512 of
//! them spare; when all are held, messages are copied.

use greenroom::net::Bytes;
use greenroom_transports::rdma::sim::{Fabric, SimSlot, Weather};
use greenroom_transports::rdma::verbs::{Device, Verbs};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const SLOT_BYTES: usize = 16_500;
const SPARE: usize = 512;

/// A slot that an actor holds, and where it goes back to.
struct Held {
    slot: Option<SimSlot>,
    back: Arc<Mutex<Vec<SimSlot>>>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.slot.as_ref().map_or(&[], AsRef::as_ref)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.back.lock().extend(self.slot.take());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual| arguments.get(at).map_or(Ok(usual), |text| text.parse::<usize>());
    let (count, len, held_max) = (number(0, 100_000)?, number(1, 16_000)?, number(3, 1)?);
    let gives_slots = arguments.get(2).is_some_and(|how| how == "slot");
    let device = Fabric::new(1, Weather::fair()).host().open("sim0", 1, 0)?;
    let back = Arc::new(Mutex::new(device.register(SPARE, SLOT_BYTES)?));
    // What the device receives into.
    let mut posted: VecDeque<_> = device.register(64, SLOT_BYTES)?.into();
    let (mut held, mut copied, began) = (VecDeque::new(), 0, Instant::now());
    for _ in 0..count {
        let Some(slot) = posted.pop_front() else { break };
        let spare = if gives_slots { back.lock().pop() } else { None };
        let (message, post) = match spare {
            Some(spare) => {
                let whole = Bytes::from_owner(Held { slot: Some(slot), back: Arc::clone(&back) });
                (whole.slice(40..40 + len), spare)
            }
            None => {
                copied += 1;
                (Bytes::from(slot.as_ref()[40..40 + len].to_vec()), slot)
            }
        };
        posted.push_back(post);
        held.push_back(message);
        if held.len() > held_max {
            held.pop_front();
        }
    }
    let nanos = began.elapsed().as_nanos() / count.max(1) as u128;
    eprintln!("{nanos} ns each, {copied} of {count} copied");
    Ok(())
}
