//! The clock, the processor and the source of randomness.

use super::Finding;
use greenroom_transports::secure::aead::{Aead, Cipher};
use greenroom_transports::secure::entropy::{Entropy, System};
use greenroom_transports::secure::key::Key;
use std::fs;
use std::time::{Duration, Instant};

const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Readings of the clock that are timed.
const READINGS: u32 = 1000;
/// Reading a clock in user space takes less than this by far, and a call of the kernel more.
const READING_NANOS_MAX: u128 = 150;
/// Texts that are sealed to time it, and how long each is: what fits one packet of an Ethernet.
const TEXTS: u32 = 200;
const TEXT_BYTES: usize = 1400;

pub(crate) fn look() -> Vec<Finding> {
    vec![clock(), entropy(), cipher()]
}

fn clock() -> Finding {
    let source = fs::read_to_string(CLOCK).unwrap_or_default();
    let source = if source.is_empty() { "unknown" } else { source.trim() };
    let began = Instant::now();
    let read = (0..READINGS).fold(began, |_, _| Instant::now());
    let nanos = (read - began).as_nanos() / u128::from(READINGS);
    let seen = format!("clock source {source}, {nanos} ns to read");
    if nanos <= READING_NANOS_MAX {
        return Finding::good("clock", seen);
    }
    let mend = "the clock is read by the kernel: boot with a clock source that user space reads, as \
                clocksource=tsc tsc=reliable";
    Finding::slow("clock", seen, mend)
}

fn entropy() -> Finding {
    let began = Instant::now();
    let mut bytes = [0; 32];
    match System.fill(&mut bytes) {
        Err(error) => Finding::bad("randomness", error.to_string(), "allow getrandom(2)"),
        Ok(()) if began.elapsed() > Duration::from_secs(1) => Finding::slow(
            "randomness",
            format!("the kernel took {:?} to be ready", began.elapsed()),
            "give the machine a source of randomness, such as virtio-rng",
        ),
        Ok(()) => Finding::good("randomness", "ready"),
    }
}

/// Which instructions the cipher can use, and what it takes.
fn cipher() -> Finding {
    let cipher = Cipher::new(&Key::new([7; 32]));
    let mut text = vec![0; TEXT_BYTES];
    let began = Instant::now();
    for counter in 0..TEXTS {
        std::hint::black_box(cipher.seal(counter.into(), &[], &mut text));
    }
    let nanos = began.elapsed().as_nanos() / u128::from(TEXTS);
    let (backend, features) = (backend(), processor());
    let seen =
        format!("{backend}, {nanos} ns for {TEXT_BYTES} bytes; the processor has {features}");
    if cfg!(feature = "ring") {
        return Finding::good("cipher", seen);
    }
    let mend = "build with the feature `ring` of greenroom-transports, which takes a C compiler";
    Finding::slow("cipher", seen, mend)
}

const fn backend() -> &'static str {
    if cfg!(feature = "ring") { "ring" } else { "pure Rust" }
}

#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    let known = [
        ("ssse3", is_x86_feature_detected!("ssse3")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
    ];
    join(&known)
}

#[cfg(target_arch = "aarch64")]
fn processor() -> String {
    join(&[("neon", std::arch::is_aarch64_feature_detected!("neon"))])
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn processor() -> String {
    join(&[])
}

fn join(known: &[(&str, bool)]) -> String {
    let there: Vec<_> = known.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
    if there.is_empty() { "nothing for it".to_owned() } else { there.join(", ") }
}
