//! See `greenroom_transports::fuzz::world`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| greenroom_transports::fuzz::world(bytes));

#[cfg(not(fuzzing))]
fn main() {}
