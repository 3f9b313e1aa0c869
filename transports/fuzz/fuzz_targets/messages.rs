//! See `greenroom_transports::fuzz::messages`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[path = "support/memory.rs"]
mod memory;

/// What a byte may stand for: an empty value of 64 bytes in a list with room for twice as many, read twice; and as much as one of
/// both while the list grows, whose old place is there beside the new one.
#[cfg(fuzzing)]
const EACH: usize = 5 * 64;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| memory::bounded(
    bytes,
    EACH,
    greenroom_transports::fuzz::messages
));

#[cfg(not(fuzzing))]
fn main() {}
