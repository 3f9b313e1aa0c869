//! Greenroom's benches: the harness, and greenroom's side of the programs that `greenroom-peers` has.
//!
//! | module | what is in it |
//! |---|---|
//! | [`advise`] | which scheduler suits an arrival pattern |
//! | [`auto`] | the table by which the default chooses its queue |
//! | [`charts`] | charts of measurements |
//! | [`child`] | child processes that may not hang |
//! | [`cli`] | the commands of the `bench` program |
//! | [`compare`] | a run against an earlier one |
//! | [`contest`] | programs against each other: one process per measurement, rounds interleaved |
//! | [`ours`] | the programs as greenroom actors |
//! | `contestant`, `verdict` | who takes part in a contest, and what it found |
//! | [`core_to_core`] | how long a cache line takes between two cores |
//! | [`counters`] | what the processor counts while a ring carries values |
//! | [`events`] | what events cost |
//! | [`far`] | questions on a long path that loses datagrams |
//! | [`idle`] | what idle actors cost |
//! | [`kv`] | the kv server against `redis-server` |
//! | [`instructions`] | instructions per operation, counted by callgrind |
//! | [`overload`] | memory under overload |
//! | [`paths`] | what each way of a message costs, beside its estimate |
//! | [`programs`] | the table of the programs |
//! | [`machine`] | the line that says where a figure comes from |
//! | [`results`] | the file that the figures are kept in |
//! | [`rows`] | the Parquet files that measurements are kept in |
//! | [`stats`] | medians |
//! | [`table`] | tables and figures as text |
//! | `usage` | what this process used of the machine |
//! | [`wake`] | how long a message waits for an idle worker |

#![forbid(unsafe_code)]

pub mod advise;
pub mod auto;
mod beside;
pub mod charts;
pub mod child;
pub mod cli;
pub mod compare;
pub mod contest;
mod contestant;
pub mod core_to_core;
pub mod counters;
pub mod events;
pub mod far;
pub mod idle;
pub mod instructions;
pub mod kv;
pub mod machine;
pub mod net;
pub mod ours;
pub mod overload;
pub mod paths;
pub mod programs;
pub mod results;
pub mod rows;
pub mod secure;
pub mod sim;
pub mod stats;
pub mod table;
mod usage;
mod verdict;
pub mod wake;
