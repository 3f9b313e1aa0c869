//! See `greenroom_transports::fuzz::wire`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[path = "support/memory.rs"]
mod memory;

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| memory::bounded(
    bytes,
    2,
    greenroom_transports::fuzz::wire
));

#[cfg(not(fuzzing))]
fn main() {}
