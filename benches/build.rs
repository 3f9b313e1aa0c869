//! Hands the compiler, its flags and the commit to the program, which writes them beside every figure: what was built is
//! what is measured, wherever and whenever that is called.

use std::env;
use std::path::Path;
use std::process::Command;

/// What the program is built from, and what it runs beside itself: files that differ from the commit are told, and the
/// commit is looked up again.
const SOURCES: [&str; 17] = [
    "Cargo.toml",
    "build.rs",
    "src",
    "micro",
    "peers",
    "../runtime/Cargo.toml",
    "../runtime/src",
    "../macros/Cargo.toml",
    "../macros/src",
    "../transports/Cargo.toml",
    "../transports/src",
    "../transports/examples/rpc_cost",
    "../examples/Cargo.toml",
    "../examples/src",
    "../Cargo.toml",
    "../Cargo.lock",
    "../.cargo",
];

/// What of the profile the environment may say, since cargo does not hand it on.
const PROFILE: [&str; 2] = ["CARGO_PROFILE_RELEASE_LTO", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS"];

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    tell("BENCH_RUSTC", &output(&rustc, &["--version"]).unwrap_or_else(|| "rustc ?".into()));
    tell("BENCH_FLAGS", &flags());
    tell("BENCH_COMMIT", &commit());
}

fn flags() -> String {
    let known = |name: &str| env::var(name).unwrap_or_default();
    // Between flags that cargo hands on stands a unit separator.
    let flags = known("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    let (profile, level) = (known("PROFILE"), known("OPT_LEVEL"));
    let mut all = format!("{profile}, opt-level {level}, RUSTFLAGS \"{flags}\"");
    for name in PROFILE {
        println!("cargo::rerun-if-env-changed={name}");
        if let Ok(value) = env::var(name) {
            all.push_str(&format!(", {name}={value}"));
        }
    }
    all
}

/// The commit, and whether what the program is built from differs from it.
fn commit() -> String {
    let sources: Vec<&str> = SOURCES.into_iter().filter(|path| Path::new(path).exists()).collect();
    // Where HEAD names a branch, its own file stays the same when that gets a commit; the log does not.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let places = ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref());
    let places: Vec<String> = places
        .filter_map(|place| git(&["rev-parse", "--git-path", place]))
        // Of what is not there, cargo would think that it changes all the time.
        .filter(|path| Path::new(path).exists())
        .collect();
    let watched = sources.iter().copied().chain(places.iter().map(String::as_str));
    watched.for_each(|path| println!("cargo::rerun-if-changed={path}"));
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "?".into());
    let changed = git(&[&["status", "--porcelain", "--"], sources.as_slice()].concat());
    match changed {
        Some(files) if !files.is_empty() => format!("{commit} with changes"),
        _ => commit,
    }
}

fn git(args: &[&str]) -> Option<String> {
    // Without its lock, so that nobody else's git fails meanwhile.
    output("git", &[&["--no-optional-locks"], args].concat())
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn tell(name: &str, value: &str) {
    println!("cargo::rustc-env={name}={value}");
}
