#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
#[actor(inbox = unbounded)]
struct UnknownOption;

#[derive(Actor)]
#[actor(mailbox = unbounded, mailbox = bounded(5))]
struct Twice;

#[derive(Actor)]
#[actor(mailbox = unbounded)]
#[actor(restart = never)]
struct TwoAttributes;

#[derive(Actor)]
#[actor(mailbox)]
struct NoValue;

fn main() {}
