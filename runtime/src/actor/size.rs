//! How large what is moved by value may be.
//!
//! Messages, answers, actors and start arguments pass through stack frames of a worker. A worker's stack is large
//! enough for some dozens of copies of each; what is larger does not compile. The macros ask here as soon as they know
//! a type, so that the error is on the user's line, and the runtime asks for types that have parameters, when those
//! are known.

/// Bytes of a message, and of an answer, at most.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Bytes of an actor, and of what it starts from, at most.
const ACTOR_BYTES_MAX: usize = 64 << 10;

/// Fails to compile, where it is evaluated, for a message that is too large.
#[track_caller]
pub const fn limit_message<M>() {
    assert!(
        size_of::<M>() <= MESSAGE_BYTES_MAX,
        "a message is moved by value, and is 16 KiB at most: put its large part in a `Box`"
    );
}

/// Fails to compile, where it is evaluated, for an answer that is too large.
#[track_caller]
pub const fn limit_answer<R>() {
    assert!(
        size_of::<R>() <= MESSAGE_BYTES_MAX,
        "an answer is moved by value, and is 16 KiB at most: put its large part in a `Box`"
    );
}

/// Fails to compile, where it is evaluated, for an actor that is too large.
#[track_caller]
pub const fn limit_actor<A>() {
    assert!(
        size_of::<A>() <= ACTOR_BYTES_MAX,
        "an actor is moved by value when it starts, and is 64 KiB at most: put its large part in a `Box`"
    );
}

/// Fails to compile, where it is evaluated, for start arguments that are too large.
#[track_caller]
pub const fn limit_arguments<T>() {
    assert!(
        size_of::<T>() <= ACTOR_BYTES_MAX,
        "start arguments are moved by value, and are 64 KiB at most: put their large part in a `Box`"
    );
}
