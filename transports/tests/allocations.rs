//! A lane that is warm allocates nothing, whatever passes through it. [LINK-80]

use greenroom::net::FrameBuf;
use greenroom_transports::link::{Address, Config, Ecn, Envelope, Kind, Lane, Time};
use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Passes everything on to the system's allocator, and counts it.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on as it is. `realloc` and `alloc_zeroed` are the default ones, which
// come here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; the block came from `alloc`.
        unsafe { Heap.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Two lanes, joined by a wire without any delay that loses now and then.
struct Joined {
    now: Time,
    lanes: [Lane; 2],
    packets: u64,
    buffer: [u8; 1500],
    message: FrameBuf,
    delivered: u64,
}

impl Joined {
    fn new() -> Self {
        let lane = || Lane::new(Time::default(), Config::default()).expect("the defaults");
        let (lanes, message) = ([lane(), lane()], FrameBuf::default());
        Self { now: Time::default(), lanes, packets: 0, buffer: [0; 1500], message, delivered: 0 }
    }

    /// Sends that many messages from the left to the right, as fast as they pass.
    fn carry(&mut self, count: u64, len: usize) {
        let (end, mut sent) = (self.delivered + count, 0);
        while self.delivered < end {
            self.now = self.now + Duration::from_micros(100);
            for _ in 0..50.min(count - sent) {
                let slot = (sent % 7) as u32;
                let to = Address { slot, generation: 1 };
                let from = Address { slot: slot / 2, generation: 1 };
                let envelope = Envelope { to, from, kind: Kind::Tell, manifest: 1, correlation: 0 };
                if self.lanes[0].send(&envelope, &[7; 4096][..len]).is_err() {
                    break;
                }
                sent += 1;
            }
            for from in 0..2 {
                self.pass_packets(from);
            }
            for lane in &mut self.lanes {
                if lane.timeout().is_some_and(|due| due <= self.now) {
                    lane.on_timeout(self.now);
                }
                while lane.poll_event().is_some() {}
            }
        }
    }

    fn pass_packets(&mut self, from: usize) {
        while let Some(packet) = self.lanes[from].poll_transmit(self.now, &mut self.buffer) {
            self.packets += 1;
            if self.packets.is_multiple_of(100) {
                continue;
            }
            let inside = &self.buffer[..packet.len];
            let lane = &mut self.lanes[1 - from];
            lane.on_packet(self.now, packet.number, inside, Ecn::NotCapable);
            while let Some(delivery) = lane.poll_message(&mut self.message) {
                self.delivered += 1;
                lane.release(self.now, delivery.receipt, u32::MAX);
            }
        }
    }
}

// [LINK-80]
#[test]
fn a_warm_lane_allocates_nothing() {
    let mut joined = Joined::new();
    joined.carry(60_000, 64);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    joined.carry(20_000, 64);
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    // What is under way at a loss varies, and with it now and then the largest amount so far.
    assert!(count <= 20, "{count} allocations for 20000 messages");
}
