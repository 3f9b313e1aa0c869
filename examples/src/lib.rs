//! Greenroom's examples: the small ones under `examples/`, and [`kv`], a service that real clients talk to.

#![forbid(unsafe_code)]

pub mod kv;
