#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
#[actor(restart = always)]
struct Unknown;

#[derive(Actor)]
#[actor(restart = transient)]
struct NoIntensity;

#[derive(Actor)]
#[actor(restart = transient(0 in "10s"))]
struct NoRestart;

#[derive(Actor)]
#[actor(restart = transient(5, "10s"))]
struct NoIn;

#[derive(Actor)]
#[actor(restart = permanent(5 in "10"))]
struct NoUnit;

#[derive(Actor)]
#[actor(restart = permanent(5 in "0s"))]
struct NoWindow;

#[derive(Actor)]
#[actor(restart = transient(5 in "10s", backoff = "50ms"))]
struct NoRange;

#[derive(Actor)]
#[actor(restart = transient(5 in "10s", backoff = "2s..50ms"))]
struct Backwards;

#[derive(Actor, Clone)]
#[actor(restart = transient(5 in 10s))]
struct NoQuotes;

#[derive(Actor, Clone)]
#[actor(restart = 5)]
struct Number;

#[derive(Actor, Clone)]
#[actor(restart = transient(5 in "10s", backoff = "50ms..2s", jitter = "+20%"))]
struct Signed;

#[derive(Actor, Clone)]
#[actor(restart = transient(5 in "10s", jitter = "20%"))]
struct NothingToShorten;

macro_rules! restarting {
    ($count:expr) => {
        #[derive(Actor, Clone)]
        #[actor(restart = transient($count in "10s"))]
        struct ByMacro;
    };
}

restarting!(0);

fn main() {}
