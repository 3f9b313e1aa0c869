//! Greenroom's examples.

#![forbid(unsafe_code)]
