//! What actors do, through the public API and on real threads: one program, so that what all of these share is
//! built once. A test that measures its process has a program of its own, beside this one.

#[path = "../support/mod.rs"]
mod support;

mod asks;
mod backpressure;
mod basics;
mod between;
mod congestion;
mod deep;
mod delivery;
mod endings;
mod events;
mod exclusive;
mod groups;
mod interleave;
mod itself;
mod macros;
mod macros_quiet;
mod macros_scope;
mod names;
mod nested;
mod ordering;
mod overruns;
mod per_core;
mod pools;
mod priorities;
mod receive_timeout;
mod stash;
mod states;
mod stillness;
mod streams;
mod succession;
mod supervision;
mod systems;
mod tasks;
mod testkit;
mod timers;
mod turns;
mod virtual_actors;
mod workers;
