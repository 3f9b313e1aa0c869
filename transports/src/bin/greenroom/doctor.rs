//! Looks at the machine: what is slow or wrong for a node here, and how it is mended.

mod keys;
mod machine;
mod marks;
mod network;
mod rdma;

use greenroom_transports::config::NodeConfig;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// As it should be.
    Good,
    /// It works, and could be faster.
    Slow,
    /// It may be as it should, or must be mended: only who runs the node knows.
    Unclear,
    /// It must be mended.
    Bad,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "good",
            Self::Slow => "slow",
            Self::Unclear => "look",
            Self::Bad => "BAD",
        })
    }
}

/// What was found out about one thing.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) state: State,
    pub(crate) what: &'static str,
    /// What was seen.
    pub(crate) seen: String,
    /// How it is mended; empty if there is nothing to mend.
    pub(crate) mend: String,
}

impl Finding {
    pub(crate) fn good(what: &'static str, seen: impl Into<String>) -> Self {
        Self { state: State::Good, what, seen: seen.into(), mend: String::new() }
    }

    pub(crate) fn slow(
        what: &'static str,
        seen: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { state: State::Slow, what, seen: seen.into(), mend: mend.into() }
    }

    pub(crate) fn unclear(
        what: &'static str,
        seen: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { state: State::Unclear, what, seen: seen.into(), mend: mend.into() }
    }

    pub(crate) fn bad(
        what: &'static str,
        seen: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { state: State::Bad, what, seen: seen.into(), mend: mend.into() }
    }
}

/// Prints all findings.
pub(crate) fn run(rdma: bool, file: Option<&Path>) -> io::Result<ExitCode> {
    let config = file.map(NodeConfig::read).transpose();
    let mut findings = Vec::new();
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            findings.push(Finding::bad("file", error.to_string(), "mend it, and ask again"));
            None
        }
    };
    findings.extend(config.iter().flat_map(keys::look));
    findings.extend(machine::look());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    findings.extend(runtime.block_on(network::look(config.as_ref())));
    if rdma {
        findings.extend(rdma::look(config.as_ref()));
    }
    let mut out = io::stdout();
    for Finding { state, what, seen, mend } in &findings {
        writeln!(out, "{state:4}  {what:15} {seen}")?;
        if !mend.is_empty() {
            writeln!(out, "      {:15} -> {mend}", "")?;
        }
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let [bad, unclear, slow] = [State::Bad, State::Unclear, State::Slow].map(count);
    write!(out, "\n{bad} to be mended, ")?;
    if unclear > 0 {
        write!(out, "{unclear} to be looked at, ")?;
    }
    writeln!(out, "{slow} that could be faster")?;
    Ok(if bad > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
