//! Memory for frames, kept by each thread from one to the next, so that a message takes none of the allocator's.
//! [ENV-17]

use crate::sync::thread_local;
use std::cell::Cell;

/// Buffers that a thread keeps at most.
const BUFFERS_MAX: usize = 4;
/// Bytes in one of them at most.
const BYTES_MAX: usize = 128 << 10;

thread_local! {
    static SPARE: Cell<Vec<Vec<u8>>> = const { Cell::new(Vec::new()) };
}

/// An empty buffer.
pub(super) fn take() -> Vec<u8> {
    SPARE.with(|spare| {
        let mut buffers = spare.take();
        let buffer = buffers.pop().unwrap_or_default();
        spare.set(buffers);
        buffer
    })
}

/// Takes a buffer back, with whatever is in it.
pub(super) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() > BYTES_MAX {
        return;
    }
    SPARE.with(|spare| {
        let mut buffers = spare.take();
        if buffers.len() < BUFFERS_MAX {
            buffer.clear();
            buffers.push(buffer);
        }
        spare.set(buffers);
    });
}
