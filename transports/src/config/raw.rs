//! The file as it is written, with the places of what stands in it.

use serde::Deserialize;
use std::num::{NonZeroU8, NonZeroU16};
use std::path::PathBuf;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) listen: Spanned<String>,
    pub(super) advertise: Option<Spanned<String>>,
    pub(super) key_file: Spanned<PathBuf>,
    pub(super) cluster_key_file: Option<Spanned<PathBuf>>,
    pub(super) name: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) roles: Vec<Spanned<String>>,
    pub(super) rdma: Option<Spanned<String>>,
    pub(super) rdma_port: Option<Spanned<NonZeroU8>>,
    pub(super) rdma_gid: Option<Spanned<u8>>,
    pub(super) rdma_connections: Option<Spanned<NonZeroU16>>,
    #[serde(default)]
    pub(super) trust: Vec<Spanned<String>>,
    pub(super) exports: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) membership: Membership,
    #[serde(default)]
    pub(super) peer: Vec<Peer>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Membership {
    pub(super) period_ms: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) seeds: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) dns: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Peer {
    pub(super) name: Option<Spanned<String>>,
    pub(super) key: Spanned<String>,
    pub(super) address: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) roles: Vec<Spanned<String>>,
}
