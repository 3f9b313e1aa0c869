#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
#[actor(priority = highest)]
struct Unknown;

#[derive(Actor)]
#[actor(priority = 2)]
struct Number;

#[derive(Actor)]
#[actor(priority = high, priority = normal)]
struct Twice;

fn main() {}
