//! See `greenroom_transports::fuzz::messages`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[path = "support/memory.rs"]
mod memory;

/// What a byte may stand for: an empty value in a list that has just grown, or a node of a map.
#[cfg(fuzzing)]
const EACH: usize = 160;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| memory::bounded(
    bytes,
    EACH,
    greenroom_transports::fuzz::messages
));

#[cfg(not(fuzzing))]
fn main() {}
