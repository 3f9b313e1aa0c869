//! Methods given to timers, watches and results: which shapes they may have.
//!
//! A method is called with the actor, a value unless it is `()`, and the context if it takes one. It
//! may be an `async fn`. The marker types only tell the shapes apart; they are inferred.

use super::context::Context;
use super::traits::{Actor, Step};
use std::future::{Future, Ready};

/// A method of `A` that takes a `T`, in the shape `Shape`.
#[diagnostic::on_unimplemented(
    message = "this is no method of `{A}` that can be called later with `{T}`",
    note = "it takes `&mut self`, the value unless it is `()`, and `&mut Context<Self>` or not; and returns nothing"
)]
pub trait LocalCall<A: Actor, T, Shape>: Copy + Send + 'static {
    /// Calls it.
    fn call<'a>(
        self,
        actor: &'a mut A,
        value: T,
        context: &'a mut Context<A>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a>;
}

/// Marks `fn(&mut self)` and `fn(&mut self, value)`.
#[derive(Debug)]
pub enum Sync {}
/// Marks `fn(&mut self, cx)` and `fn(&mut self, value, cx)`.
#[derive(Debug)]
pub enum SyncWithContext {}
/// Marks `async fn(&mut self)` and `async fn(&mut self, value)`.
#[derive(Debug)]
pub enum Async {}
/// Marks `async fn(&mut self, cx)` and `async fn(&mut self, value, cx)`.
#[derive(Debug)]
pub enum AsyncWithContext {}
/// Marks the shapes without a value.
#[derive(Debug)]
pub struct NoValue<Shape>(Shape);

/// What calling a method with these borrowed arguments returns; lets an `async fn` be bounded `Send`.
macro_rules! async_method {
    ($name:ident, $($argument:ty),+ $(; $value:ident)?) => {
        #[doc(hidden)]
        pub trait $name<'a, A: Actor $(, $value)?>: Fn($($argument),+) -> Self::Future {
            type Future: Future<Output = ()> + Send + 'a;
        }

        impl<'a, A: Actor, $($value,)? F, Fut> $name<'a, A $(, $value)?> for F
        where
            F: Fn($($argument),+) -> Fut,
            Fut: Future<Output = ()> + Send + 'a,
        {
            type Future = Fut;
        }
    };
}

async_method!(AsyncMethod, &'a mut A);
async_method!(AsyncMethodWithContext, &'a mut A, &'a mut Context<A>);
async_method!(AsyncMethodOf, &'a mut A, T; T);
async_method!(AsyncMethodOfWithContext, &'a mut A, T, &'a mut Context<A>; T);

macro_rules! shape {
    ($value:ty, $shape:ty, ($($generic:ident)?), ($($bound:tt)+), $actor:ident, $given:ident, $context:ident, $call:expr) => {
        impl<A: Actor, $($generic: Send + 'static,)? F> LocalCall<A, $value, $shape> for F
        where
            F: $($bound)+ + Copy + Send + 'static,
        {
            fn call<'a>(
                self,
                $actor: &'a mut A,
                $given: $value,
                $context: &'a mut Context<A>,
            ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
                let _ = (&$given, &$context);
                $call(self);
                Step::<(), Ready<()>>::Done(())
            }
        }
    };
}

shape!((), NoValue<Sync>, (), (for<'b> Fn(&'b mut A)), actor, value, context, |method: F| method(
    actor
));
shape!(
    (),
    NoValue<SyncWithContext>,
    (),
    (for<'b> Fn(&'b mut A, &'b mut Context<A>)),
    actor,
    value,
    context,
    |method: F| method(actor, context)
);
shape!(T, Sync, (T), (for<'b> Fn(&'b mut A, T)), actor, value, context, |method: F| method(
    actor, value
));
shape!(
    T,
    SyncWithContext,
    (T),
    (for<'b> Fn(&'b mut A, T, &'b mut Context<A>)),
    actor,
    value,
    context,
    |method: F| method(actor, value, context)
);

macro_rules! async_shape {
    ($value:ty, $shape:ty, ($($generic:ident)?), $bound:ident, $actor:ident, $given:ident, $context:ident, ($($argument:expr),+)) => {
        impl<A: Actor, $($generic: Send + 'static,)? F> LocalCall<A, $value, $shape> for F
        where
            F: for<'b> $bound<'b, A $(, $generic)?> + Copy + Send + 'static,
        {
            fn call<'a>(
                self,
                $actor: &'a mut A,
                $given: $value,
                $context: &'a mut Context<A>,
            ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
                let _ = (&$given, &$context);
                Step::Later(self($($argument),+))
            }
        }
    };
}

async_shape!((), NoValue<Async>, (), AsyncMethod, actor, value, context, (actor));
async_shape!(
    (),
    NoValue<AsyncWithContext>,
    (),
    AsyncMethodWithContext,
    actor,
    value,
    context,
    (actor, context)
);
async_shape!(T, Async, (T), AsyncMethodOf, actor, value, context, (actor, value));
async_shape!(
    T,
    AsyncWithContext,
    (T),
    AsyncMethodOfWithContext,
    actor,
    value,
    context,
    (actor, value, context)
);
