//! Generated code works wherever it stands, and whatever names are in scope there.

use greenroom::{Actor, Context, Mailbox, System, handlers};

type Outcome = Result<(), Box<dyn std::error::Error>>;

mod hostile {
    //! Names that generated code must not look up here.
    #![allow(dead_code, reason = "they are there to be in the way")]

    struct Clone;
    struct Err;
    struct Future;
    struct Message;
    struct None;
    struct Ok;
    struct Option;
    struct Recipient;
    pub(crate) struct Result;
    struct Send;
    struct Sized;
    struct Some;
    struct Step;
    mod core {}
    mod greenroom {}
    mod std {}

    #[derive(::greenroom::Actor)]
    #[actor(mailbox = bounded(8, full = reject), restart = permanent(3 in "1s"))]
    pub(crate) struct Odd;

    impl ::core::clone::Clone for Odd {
        fn clone(&self) -> Self {
            Self
        }
    }

    #[::greenroom::handlers]
    impl Odd {
        #[tell]
        fn take(&mut self, _result: Result) {}

        // A bare `Result` is somebody's own, and is not flattened.
        #[ask]
        async fn make(&mut self) -> Result {
            Result
        }

        #[ask]
        fn fail(&self) -> ::core::result::Result<(), u8> {
            ::core::result::Result::Err(4)
        }

        #[stop]
        fn end(&mut self, _reason: &::greenroom::ExitReason) {}
    }
}

#[greenroom::test]
async fn names_in_scope_do_not_matter(system: System) -> Outcome {
    let odd = system.spawn::<hostile::Odd>(hostile::Odd).await?;
    odd.take(hostile::Result).await?;
    let hostile::Result = odd.make().await?;
    assert!(matches!(odd.fail().await, Err(greenroom::AskError::Failed(4))));
    Ok(())
}

macro_rules! counter {
    ($actor:ident, $number:ty, $add:ident($by:ident)) => {
        #[derive(Actor)]
        struct $actor($number);

        #[handlers]
        impl $actor {
            #[start]
            fn start(first: $number) -> Self {
                Self(first)
            }

            #[tell]
            fn $add(&mut self, $by: $number, times: u8, cx: &mut Context<Self>) {
                let _ = cx.id();
                self.0 += $by * <$number>::from(times);
            }

            #[ask]
            fn total(&self) -> $number {
                self.0
            }
        }
    };
}

// What a macro is given comes in groups that nobody sees.
macro_rules! bounded {
    ($actor:ident, $count:expr, $bytes:literal, $stash:expr) => {
        #[derive(Actor)]
        #[actor(mailbox = bounded($count, bytes = $bytes), stash = $stash)]
        struct $actor;

        #[handlers]
        impl $actor {}
    };
}

#[test]
fn sizes_may_come_from_a_macro() {
    bounded!(Bounded, 4, "64KiB", 2);
    let mailbox = Mailbox::bounded(4).bytes(65_536);
    assert_eq!(Bounded::OPTIONS.get_mailbox(), mailbox);
}

mod nested {
    pub(crate) mod deeply {
        use greenroom::{Actor, Context, handlers};

        counter!(Nested, u32, r#move(by));

        pub(crate) async fn count(system: &greenroom::System) -> super::super::Outcome {
            let counter = system.spawn::<Nested>(1).await?;
            counter.r#move(2, 3).await?;
            assert_eq!(counter.total().await?, 7);
            Ok(())
        }
    }
}

#[greenroom::test]
async fn it_works_in_modules_functions_and_macros(system: System) -> Outcome {
    counter!(Local, u64, add(reply));
    let counter = system.spawn::<Local>(1).await?;
    counter.add(2, 3).await?;
    assert_eq!(counter.total().await?, 7);
    nested::deeply::count(&system).await
}

mod conditional {
    use greenroom::{Actor, handlers};

    #[derive(Actor)]
    pub(crate) struct Conditional;

    #[handlers]
    impl Conditional {
        #[ask]
        #[cfg(any())]
        async fn never(&mut self, missing: Missing) -> Missing {
            missing
        }

        #[ask]
        #[cfg(not(any()))]
        fn which(&self) -> u8 {
            1
        }

        #[ask]
        #[cfg(any())]
        async fn which(&self, other: Missing) -> u8 {
            2
        }

        #[ask]
        #[cfg_attr(all(), cfg(any()))]
        fn neither(&self, missing: Missing) -> Missing {
            missing
        }

        #[tell]
        #[cfg_attr(not(any()), cfg_attr(all(), inline, cfg(not(all()))))]
        async fn nor(&mut self, missing: Missing) {}

        #[local]
        #[cfg_attr(all(), cfg(any()))]
        async fn again(&mut self, cx: &mut greenroom::Context<Self>) {
            cx.after(Missing, Self::again);
        }

        #[ask]
        #[cfg_attr(any(), cfg(any()))]
        fn after_all(&self) -> u8 {
            2
        }
    }

    /// Which puts nothing aside where it is built, and need not say how much.
    #[derive(Actor)]
    pub(crate) struct Patient;

    #[handlers]
    impl Patient {
        #[tell]
        #[cfg(any())]
        #[cfg(not(any()))]
        #[stash(while = true)]
        fn wait(&mut self) {}

        #[tell]
        #[cfg_attr(all(), cfg(any()))]
        #[stash(while = true)]
        fn rest(&mut self) {}

        #[ask]
        fn is_there(&self) -> bool {
            true
        }
    }

    /// All of whose handlers are left out.
    #[derive(Actor)]
    pub(crate) struct Mute;

    #[handlers(api = MuteApi)]
    impl Mute {
        #[tell]
        #[cfg(any())]
        fn speak(&mut self) {}
    }
}

#[greenroom::test]
async fn handlers_may_be_conditional(system: System) -> Outcome {
    let conditional = system.spawn::<conditional::Conditional>(conditional::Conditional).await?;
    assert_eq!(conditional.which().await?, 1);
    assert_eq!(conditional.after_all().await?, 2);
    let patient = system.spawn::<conditional::Patient>(conditional::Patient).await?;
    assert!(patient.is_there().await?);
    let mute = system.spawn::<conditional::Mute>(conditional::Mute).await?;
    assert_eq!(mute.api::<conditional::MuteApi>().id(), mute.id());
    Ok(())
}

mod renamed {
    extern crate greenroom as other;

    #[derive(other::Actor)]
    pub(crate) struct Book;

    #[other::handlers(api = BookApi)]
    impl Book {
        #[ask]
        fn pages(&self, _cx: &mut other::Context<Self>) -> usize {
            300
        }

        #[ask]
        fn lines(&self, reply: other::Reply<usize>) {
            reply.send(9_000);
        }
    }

    #[other::main]
    pub(crate) async fn main(system: other::System) -> usize {
        let book = system.spawn::<Book>(Book).await.expect("it starts");
        assert_eq!(book.lines().await, Ok(9_000));
        book.api::<BookApi>().pages().await.expect("it answers")
    }
}

#[test]
fn the_crate_may_have_another_name() {
    assert_eq!(renamed::main(), 300);
}

mod private {
    //! An actor whose own type and arguments stay here; what its protocol shows is public.

    use greenroom::{Actor, Ref, SpawnError, System, handlers};

    #[derive(Actor)]
    struct Hidden {
        secret: Secret,
    }

    struct Secret(u8);

    #[handlers(api = Guess)]
    impl Hidden {
        #[ask]
        fn is(&self, number: u8) -> bool {
            self.secret.0 == number
        }

        #[tell]
        fn change(&mut self, secret: Secret) {
            self.secret = secret;
        }
    }

    pub(crate) async fn spawn(system: &System) -> Result<Ref<Guess>, SpawnError> {
        let hidden = system.spawn::<Hidden>(Hidden { secret: Secret(1) }).await?;
        hidden.change(Secret(2)).try_send().expect("there is room");
        Ok(hidden.api())
    }
}

#[greenroom::test]
async fn a_protocol_outlives_the_privacy_of_its_actor(system: System) -> Outcome {
    let guess = private::spawn(&system).await?;
    assert!(guess.is(2).await?);
    Ok(())
}

mod alike {
    //! What others call as the runtime calls something of its own.

    use greenroom::{Actor, handlers};

    pub(crate) struct Context<T>(pub(crate) T);

    #[derive(Actor)]
    pub(crate) struct Namesake;

    #[handlers]
    impl Namesake {
        #[ask]
        fn unwrap(&self, context: Context<u8>, r#reply: u8) -> u8 {
            context.0 + r#reply
        }
    }
}

#[greenroom::test]
async fn a_message_may_hold_the_context_of_another_crate(system: System) -> Outcome {
    let namesake = system.spawn::<alike::Namesake>(alike::Namesake).await?;
    assert_eq!(namesake.unwrap(alike::Context(3), 4).await?, 7);
    Ok(())
}

/// Two actors of one generic type, each with a protocol of its own.
mod by_parameter {
    use greenroom::{Actor, handlers};

    #[derive(Actor)]
    pub(crate) struct Cell<T: Send + 'static>(pub(crate) T);

    #[handlers(api = Bytes)]
    impl Cell<u8> {
        #[ask]
        fn byte(&self) -> u8 {
            self.0
        }
    }

    #[handlers(api = Words)]
    impl Cell<u16> {
        #[ask]
        fn word(&self) -> u16 {
            self.0
        }
    }
}

#[greenroom::test]
async fn actors_may_differ_in_their_parameters_alone(system: System) -> Outcome {
    let byte = system.spawn::<by_parameter::Cell<u8>>(by_parameter::Cell(1)).await?;
    let word = system.spawn::<by_parameter::Cell<u16>>(by_parameter::Cell(2)).await?;
    assert_eq!((byte.byte().await?, word.word().await?), (1, 2));
    Ok(())
}

#[greenroom::test]
#[should_panic(expected = "as wanted")]
async fn tests_keep_their_attributes(_system: System) {
    panic!("as wanted");
}
