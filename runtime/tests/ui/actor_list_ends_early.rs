#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
#[actor(restart = transient(5))]
struct NoWindow;

#[derive(Actor)]
#[actor(restart = transient())]
struct NoCount;

#[derive(Actor)]
#[actor(restart = transient(5 in))]
struct NoText;

#[derive(Actor)]
#[actor(restart = permanent(5 in "10s", backoff))]
struct NoValue;

#[derive(Actor)]
#[actor(mailbox = bounded())]
struct NoRoom;

#[derive(Actor)]
#[actor(mailbox = bounded(8, bytes =))]
struct NoSize;

#[derive(Actor)]
#[actor(supervise = one_for_one(5))]
struct NoTime;

fn main() {}
