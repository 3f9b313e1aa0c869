//! See `greenroom_examples::kv::fuzz::requests`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[path = "support/memory.rs"]
mod memory;

/// What the check keeps of a byte: an empty word, twice.
#[cfg(fuzzing)]
const EACH: usize = 128;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| memory::bounded(
    bytes,
    EACH,
    greenroom_examples::kv::fuzz::requests
));

#[cfg(not(fuzzing))]
fn main() {}
