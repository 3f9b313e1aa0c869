#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
#[actor(supervise = one_for_two(5 in "10s"))]
struct Unknown;

#[derive(Actor)]
#[actor(supervise = one_for_one)]
struct NoIntensity;

#[derive(Actor)]
#[actor(supervise = one_for_all(0 in "10s"))]
struct NoRestart;

#[derive(Actor)]
#[actor(supervise = rest_for_one(5 in "10s", jitter = 20))]
struct NoText;

#[derive(Actor)]
#[actor(supervise = rest_for_one(5 in "10s", jitter = "120%"))]
struct TooMuch;

fn main() {}
