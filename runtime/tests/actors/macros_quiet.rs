//! Generated code is quiet about what the user has settled in the place that it repeats.

#![deny(
    deprecated,
    non_snake_case,
    unused_mut,
    clippy::type_complexity,
    clippy::used_underscore_binding,
    reason = "each has its allowance below, where a user would write it"
)]

use greenroom::{Actor, Context, Message, Reply, State, States, System, handlers};
use std::time::Duration;

type Outcome = Result<(), Box<dyn std::error::Error>>;

mod old {
    //! What is on its way out, all of it with macros.
    #![allow(deprecated, reason = "whoever uses it from outside is told")]

    use super::{Actor, Message, handlers};

    #[deprecated]
    #[derive(Debug, Default)]
    pub(super) struct Part;

    #[deprecated]
    #[derive(Message)]
    #[message(reply = Part)]
    pub(super) struct Question;

    #[deprecated]
    pub(super) struct Idle;

    #[deprecated]
    #[derive(Actor)]
    #[actor(stash = 4)]
    pub(super) struct Shelf {
        pub(super) is_busy: bool,
    }

    #[handlers]
    impl Shelf {
        #[ask]
        #[stash(while = self.is_busy)]
        fn swap(&mut self, part: Part) -> Part {
            part
        }
    }
}

// One by one, as in a crate that has no module for them.
mod beside {
    use super::{Actor, Message, State, States, handlers};

    #[deprecated]
    #[derive(Actor)]
    #[actor(stash = 4, interleave = 4, supervise = one_for_one(1 in "1s"))]
    pub(super) struct Deprecated;

    #[allow(deprecated, reason = "it is its own impl")]
    #[handlers(api = DeprecatedApi)]
    impl Deprecated {
        #[start]
        fn start() -> Self {
            Self
        }

        #[tell]
        #[stash(while = false)]
        fn take(&mut self, _part: super::old::Part) {}

        #[ask]
        fn give(&self) -> super::old::Part {
            super::old::Part
        }
    }

    #[deprecated]
    #[derive(Message)]
    pub(super) struct Told;

    #[derive(Message)]
    #[expect(dead_code, reason = "it only has to compile")]
    pub(super) enum Request {
        #[deprecated]
        Old(Vec<u8>),
        New {
            #[deprecated]
            old: Vec<u8>,
        },
    }

    #[derive(States)]
    #[allow(deprecated, reason = "there are still lines of it")]
    pub(super) enum Line {
        Idle(super::old::Idle),
        Open(Open),
    }

    pub(super) struct Open;

    #[derive(Actor)]
    pub(super) struct Phone {
        pub(super) line: State<Line>,
    }

    #[allow(deprecated, reason = "there are still lines of it")]
    #[handlers(state = line)]
    impl Phone {
        #[tell]
        fn call(&mut self, #[state] _idle: super::old::Idle) -> Open {
            Open
        }

        #[ask]
        fn is_open(&self) -> bool {
            matches!(self.line.get(), Some(Line::Open(Open)))
        }
    }
}

// Where an allowance is an error.
#[forbid(deprecated)]
#[allow(dead_code, reason = "it only has to compile")]
mod forbidden {
    use super::{Actor, Message, States};

    #[derive(Actor)]
    #[actor(stash = 4, interleave = 4, supervise = one_for_one(1 in "1s"))]
    pub(super) struct Shelf;

    #[derive(Message)]
    #[message(reply = u8)]
    pub(super) struct Question;

    #[derive(States)]
    pub(super) enum Line {
        Idle(Idle),
    }

    pub(super) struct Idle;
}

type Parts = Vec<u8>;

/// Whose arguments lints have something to say of.
#[derive(Actor)]
#[actor(stash = 4)]
struct Odd {
    count: usize,
}

#[handlers]
impl Odd {
    #[allow(clippy::type_complexity, reason = "it is what the test is about")]
    #[tell]
    fn take(
        &mut self,
        parts: Vec<(
            Option<Box<dyn Fn(u8) -> Result<Parts, Parts> + Send>>,
            Vec<(u8, [Vec<Option<u8>>; 2])>,
        )>,
    ) {
        self.count += parts.len();
    }

    #[tell]
    fn leave(&mut self, _count: usize) {}

    #[expect(non_snake_case, reason = "the other side calls it so")]
    #[ask]
    #[stash(while = someParts.len() > self.count + 2)]
    fn countOf(&self, someParts: Parts) -> usize {
        self.count + someParts.len()
    }

    #[doc(alias = "length")]
    #[ask]
    fn size(&self) -> usize {
        self.count
    }
}

/// Whose allowances stand inside of what they are for.
#[derive(Actor)]
#[actor(stash = 4)]
struct Inside;

#[handlers]
impl Inside {
    #![allow(non_snake_case, reason = "the other side calls them so")]

    #[ask]
    #[stash(while = someParts.is_empty())]
    fn countOf(&self, someParts: Parts) -> usize {
        //! How many there are.
        #![expect(unused_variables, reason = "it is what the attribute is about")]
        let nothing = 1;
        someParts.len()
    }

    #[ask]
    async fn sumOf(&self, someParts: Parts) -> u64 {
        #![expect(unused_variables, reason = "it is what the attribute is about")]
        let itself = Self::sumOf;
        someParts.into_iter().map(u64::from).sum()
    }
}

/// Comes back to itself by way of a plain function.
#[derive(Actor)]
struct Waiter {
    turns: u8,
    done: Option<Reply<u8>>,
}

#[handlers]
impl Waiter {
    #[allow(clippy::needless_arbitrary_self_type, reason = "it cannot be written otherwise")]
    #[local]
    async fn turn(mut self: &mut Self, cx: &mut Context<Self>) {
        self = &mut *self;
        self.turns += 1;
        self.again(cx).await;
    }

    #[expect(clippy::manual_async_fn, reason = "it is what the test is about")]
    fn again(&mut self, cx: &mut Context<Self>) -> impl Future<Output = ()> {
        async {
            if self.turns < 3 {
                cx.after(Duration::ZERO, Self::turn);
            } else if let Some(done) = self.done.take() {
                done.send(self.turns);
            }
        }
    }

    #[ask]
    fn turns(&mut self, reply: Reply<u8>, cx: &mut Context<Self>) {
        self.done = Some(reply);
        cx.after(Duration::ZERO, Self::turn);
    }
}

#[greenroom::test]
async fn a_method_may_come_back_by_way_of_a_plain_function(system: System) -> Outcome {
    let waiter = system.spawn::<Waiter>(Waiter { turns: 0, done: None }).await?;
    assert_eq!(waiter.turns().await?, 3);
    Ok(())
}

/// Whose names are another's, all of them.
#[derive(Actor)]
#[actor(stash = 4)]
struct Foreign;

#[allow(non_snake_case, reason = "the other side calls them so")]
#[handlers]
impl Foreign {
    #[ask]
    #[stash(while = someParts.is_empty())]
    async fn lengthOf(&self, someParts: Parts) -> usize {
        someParts.len()
    }
}

#[greenroom::test]
async fn what_is_allowed_is_allowed_where_it_is_repeated(system: System) -> Outcome {
    let odd = system.spawn::<Odd>(Odd { count: 0 }).await?;
    odd.take(Vec::new()).await?;
    odd.leave(7).await?;
    assert_eq!(odd.countOf(vec![1, 2]).await?, 2);
    assert_eq!(odd.size().await?, 0);
    let inside = system.spawn::<Inside>(Inside).await?;
    assert_eq!(inside.countOf(vec![1, 2]).await?, 2);
    assert_eq!(inside.sumOf(vec![1, 2]).await?, 3);
    let foreign = system.spawn::<Foreign>(Foreign).await?;
    assert_eq!(foreign.lengthOf(vec![1]).await?, 1);
    Ok(())
}

#[allow(deprecated, reason = "the test is about it")]
#[greenroom::test]
async fn what_is_deprecated_can_be_used_where_that_is_allowed(system: System) -> Outcome {
    let old = system.spawn::<beside::Deprecated>(()).await?;
    old.take(old::Part).await?;
    old.give().await?;
    let shelf = system.spawn::<old::Shelf>(old::Shelf { is_busy: false }).await?;
    shelf.swap(old::Part).await?;
    let line = State::new(old::Idle);
    let phone = system.spawn::<beside::Phone>(beside::Phone { line }).await?;
    phone.call().await?;
    assert!(phone.is_open().await?);
    Ok(())
}
