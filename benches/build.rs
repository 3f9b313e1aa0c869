//! Hands the compiler and its flags to the program, which writes them beside every figure.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo::rustc-env=BENCH_RUSTC={}", version.unwrap_or_else(|| "rustc ?".into()));
    let known = |name: &str| env::var(name).unwrap_or_default();
    // Between flags that cargo hands on stands a unit separator.
    let flags = known("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    let (profile, level) = (known("PROFILE"), known("OPT_LEVEL"));
    let all = format!("{profile}, opt-level {level}, RUSTFLAGS \"{flags}\"");
    println!("cargo::rustc-env=BENCH_FLAGS={all}");
}
