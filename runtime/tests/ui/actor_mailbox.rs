#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
#[actor(mailbox = endless)]
struct Unknown;

#[derive(Actor)]
#[actor(mailbox = bounded)]
struct NoBound;

#[derive(Actor)]
#[actor(mailbox = bounded(0))]
struct NoRoom;

#[derive(Actor)]
#[actor(mailbox = bounded(10, bytes = "1MB"))]
struct Megabytes;

#[derive(Actor)]
#[actor(mailbox = bounded(10, full = forget))]
struct UnknownPolicy;

#[derive(Actor)]
#[actor(mailbox = bounded(10, weight = 3))]
struct UnknownBound;

#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 0))]
struct NeverCalm;

#[derive(Actor)]
#[actor(mailbox = unbounded(full = reject))]
struct NeverFull;

#[derive(Actor)]
#[actor(mailbox = bounded(10, bytes = "99999999999999999999KiB"))]
struct LongNumber;

#[derive(Actor)]
#[actor(mailbox = bounded(10, bytes = "17179869184GiB"))]
struct LargeUnit;

#[derive(Actor)]
#[actor(mailbox = bounded(10, bytes = "KiB"))]
struct NoNumber;

fn main() {}
