//! `kv`: its commands, its clients, its files, its nodes and its command line. In one program, since most of them wait
//! for a clock or for a process, and can do so side by side.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod cli;
mod clients;
mod cluster;
mod commands;
mod dir;
#[path = "../kv_support/mod.rs"]
mod kv_support;
mod memory;
