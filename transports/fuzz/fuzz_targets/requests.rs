//! See `greenroom_examples::kv::fuzz::requests`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| greenroom_examples::kv::fuzz::requests(bytes));

#[cfg(not(fuzzing))]
fn main() {}
