//! Derive and attribute macros of the greenroom actor runtime.
//!
//! Use them through `greenroom`, which re-exports them all. What they expand to names the runtime
//! by the name that the using crate gives it in its `Cargo.toml`.
#![forbid(unsafe_code)]

mod actor;
mod crate_path;
mod entry;
mod errors;
mod message;
mod options;
mod quantity;

use proc_macro::TokenStream;

/// Makes a struct or an enum an actor, and declares its mailbox and its restarts.
///
/// `#[actor(..)]` takes two options:
///
/// | option | value | default |
/// |---|---|---|
/// | `mailbox` | `unbounded`, `bounded(1024)` | `unbounded` |
/// | `restart` | `never`, `transient(5 in "10s")`, `permanent(5 in "10s")` | `never` |
///
/// A bounded mailbox may also have `bytes`, a bound on the memory of its messages such as `"64KiB"`
/// or `"1MiB"`, and `full`, what becomes of a message that finds no room: `wait`, `reject`,
/// `drop_newest` or `drop_oldest`.
///
/// `transient` starts the actor again when it fails, `permanent` also when it stops by itself: here
/// up to five times in ten seconds. With `backoff` there is a pause before each restart, from the
/// first duration up to the second. A restart starts from a copy of the start arguments, so they
/// must be `Clone`. Durations are written `"50ms"`, `"10s"`, `"2m"` or `"1h"`.
///
/// An actor also needs an impl with [`macro@handlers`].
///
/// # Examples
///
/// ```
/// use greenroom::{Actor, handlers};
///
/// #[derive(Actor)]
/// #[actor(
///     mailbox = bounded(1024, bytes = "1MiB", full = drop_oldest),
///     restart = transient(5 in "10s", backoff = "50ms..2s")
/// )]
/// struct Thermometer {
///     celsius: f64,
/// }
///
/// #[handlers]
/// impl Thermometer {
///     #[start]
///     fn start(celsius: f64) -> Self {
///         Thermometer { celsius }
///     }
/// }
///
/// let restart = Thermometer::OPTIONS.get_restart();
/// assert_eq!(restart.count_max(), 5);
/// assert_eq!(restart.window().as_secs(), 10);
/// # let _ = Thermometer::start(20.0).celsius;
/// ```
#[proc_macro_derive(Actor, attributes(actor))]
pub fn derive_actor(item: TokenStream) -> TokenStream {
    tokens(actor::expand(item.into()))
}

/// Makes a type a message that an actor handles by hand, beside those of its [`macro@handlers`].
///
/// `#[message(reply = Type)]` says what an `ask` of it answers; without it, that is `()`.
///
/// # Examples
///
/// ```
/// use greenroom::{Actor, Context, Handle, Message, System, handlers};
///
/// #[derive(Message)]
/// #[message(reply = usize)]
/// struct Measure(String);
///
/// #[derive(Actor)]
/// struct Ruler;
///
/// #[handlers]
/// impl Ruler {}
///
/// impl Handle<Measure> for Ruler {
///     fn handle(&mut self, message: Measure, _cx: &mut Context<Self>) -> usize {
///         message.0.len()
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let ruler = system.spawn::<Ruler>(Ruler).await?;
///     assert_eq!(ruler.ask(Measure("stage".to_owned())).await?, 5);
///     Ok(())
/// }
/// ```
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(item: TokenStream) -> TokenStream {
    tokens(message::expand(item.into()))
}

/// Runs an `async fn main`.
///
/// With an argument, `main` gets a `System` that is built from the environment and shut down when
/// `main` returns. Without one it builds its own. It may return whatever a `main` may.
///
/// # Examples
///
/// ```
/// use greenroom::System;
///
/// #[greenroom::main]
/// async fn main(system: System) {
///     assert_eq!(system.counts().ended, 0);
/// }
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    tokens(entry::expand("greenroom::main", &quote::quote!(), &options.into(), item.into()))
}

/// Runs an `async` test, with a `System` of its own if it takes one.
///
/// The system is built from the environment and shut down when the test is over; a test whose
/// actors do not end in time fails.
///
/// # Examples
///
/// ```
/// # fn main() {}
/// #[greenroom::test]
/// async fn nothing_has_ended(system: greenroom::System) {
///     assert_eq!(system.counts().ended, 0);
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    let mark = quote::quote!(#[::core::prelude::v1::test]);
    tokens(entry::expand("greenroom::test", &mark, &options.into(), item.into()))
}

/// Returns what to put into the user's crate: the expansion, or its errors.
fn tokens(expansion: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expansion.unwrap_or_else(syn::Error::into_compile_error).into()
}
