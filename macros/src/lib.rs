//! Derive and attribute macros of the greenroom actor runtime.
//!
//! Use them through `greenroom`, which re-exports them all. What they expand to names the runtime
//! by the name that the using crate gives it in its `Cargo.toml`.
//!
//! ```
//! use greenroom::{Actor, System, handlers};
//!
//! #[derive(Actor)]
//! struct Counter {
//!     total: u64,
//! }
//!
//! #[handlers]
//! impl Counter {
//!     #[tell]
//!     fn add(&mut self, amount: u64) {
//!         self.total += amount;
//!     }
//!
//!     #[ask]
//!     fn total(&self) -> u64 {
//!         self.total
//!     }
//! }
//!
//! #[greenroom::main]
//! async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
//!     let counter = system.spawn::<Counter>(Counter { total: 40 }).await?;
//!     counter.add(2).await?;
//!     assert_eq!(counter.total().await?, 42);
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

mod actor;
mod crate_path;
mod entry;
mod errors;
mod event;
mod handlers;
mod heap;
mod message;
mod options;
mod quantity;
mod spans;
mod states;

use proc_macro::TokenStream;

/// Makes a struct or an enum an actor, and declares its mailbox, its restarts, how it supervises and its
/// priority.
///
/// `#[actor(..)]` takes six options:
///
/// | option | value | default |
/// |---|---|---|
/// | `mailbox` | `unbounded`, `bounded(1024)` | `unbounded` |
/// | `restart` | `never`, `transient(5 in "10s")`, `permanent(5 in "10s")` | `never` |
/// | `supervise` | `one_for_one(5 in "10s")`, `one_for_all(5 in "10s")`, `rest_for_one(5 in "10s")` | |
/// | `priority` | `normal`, `high` | `normal` |
/// | `stash` | `100`, how many messages may be put aside | |
/// | `interleave` | `16`, how many handlers may wait without holding the actor | |
///
/// A bounded mailbox may also have `bytes`, a bound on the memory of its messages such as `"64KiB"`
/// or `"1MiB"`, what they own on the heap included (`HeapBytes`); and `full`, what becomes of a message
/// that finds no room: `wait`, `reject`, `drop_newest` or `drop_oldest`. Any mailbox may have `overload = 1000`, as in
/// `unbounded(overload = 1000)`: so many messages that wait hold awaited tells back.
///
/// `transient` starts the actor again when it fails, `permanent` also when it stops by itself: here
/// up to five times in ten seconds. With `backoff` there is a pause before each restart, from the
/// first duration up to the second, and `jitter = "20%"` shortens each by up to so much, at random. A
/// restart starts from a copy of the start arguments, so they must be `Clone`. Durations are written
/// `"50ms"`, `"10s"`, `"2m"` or `"1h"`.
///
/// `supervise` makes the actor a `Supervisor` of the children that it starts with `cx.supervise`: it
/// restarts the one that failed, all of them, or that one and those that were started after it. It takes
/// `backoff` and `jitter`, too.
///
/// Of five picks at which actors of both priorities are ready to run, four are of high ones.
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
/// `#[message(reply = Type)]` says what an `ask` of it answers; without it, that is `()`. What its parts own on the heap
/// counts in mailboxes that are bounded by bytes, unless it is `#[repr(packed)]`.
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

/// Makes an enum or a struct something that a journal keeps: `greenroom::journal::Event`.
///
/// Each variant, or the struct, is stored under a name and a version. `#[event(..)]` on it takes two
/// options:
///
/// | option | value | default |
/// |---|---|---|
/// | `name` | a text such as `"deposited"` | the variant's or struct's own name |
/// | `version` | a number | `1` |
///
/// Two variants may have one name, and then differ in version. Fields need serde's `Serialize` and
/// `Deserialize`; the type itself does not.
///
/// # Examples
///
/// ```ignore
/// // Needs the runtime's feature `journal`.
/// use greenroom::journal::Event;
///
/// #[derive(Event)]
/// enum Moved {
///     #[event(name = "deposited", version = 2)]
///     Deposited { cents: u64, by: String },
///     #[event(name = "deposited", version = 1)]
///     DepositedAnonymously { cents: u64 },
/// }
/// ```
#[proc_macro_derive(Event, attributes(event))]
pub fn derive_event(item: TokenStream) -> TokenStream {
    tokens(event::expand(item.into()))
}

/// Makes an enum a set of states, for actors that are in one of them: `greenroom::States`.
///
/// Each variant holds one type, which is the state, and no two hold the same. The types convert into the enum.
///
/// # Examples
///
/// ```
/// use greenroom::{State, States};
///
/// struct Idle;
/// struct Open {
///     sent: u64,
/// }
///
/// #[derive(States)]
/// enum Line {
///     Idle(Idle),
///     Open(Open),
/// }
///
/// let line: State<Line> = State::new(Open { sent: 7 });
/// assert!(matches!(line.get(), Some(Line::Open(open)) if open.sent == 7));
/// ```
#[proc_macro_derive(States)]
pub fn derive_states(item: TokenStream) -> TokenStream {
    tokens(states::expand(item.into()))
}

/// Makes the methods of an impl the handlers of an actor.
///
/// The methods stay what they are. Beside the impl of `Book` stand, generated from it, the enum
/// `BookMessage` with one variant for each handler, and `BookCalls` with the methods that a
/// `Ref<Book>` has for its callers. Documentation, `#[cfg]` and `#[deprecated]` on a handler are
/// carried over.
///
/// # Roles
///
/// | attribute | method | is called |
/// |---|---|---|
/// | `#[start]` | `fn(args..) -> Self` | to make the actor, also at a restart |
/// | `#[stop]` | `fn(&mut self)` | last, unless the actor was killed |
/// | `#[tell]` | `fn(&mut self, args..)` | for a message that nobody waits for |
/// | `#[ask]` | `fn(&mut self, args..) -> R` | for a message whose answer is awaited |
/// | `#[local]` | `fn(&mut self)` | by `cx.after`, `cx.every` and `cx.pipe` |
/// | `#[down]` | `fn(&mut self, down: Down)` | by `cx.watch`, when another actor has ended |
///
/// All may be `async`, and all may take `cx: &mut Context<Self>`, which is found by this type; a
/// `#[local]` or `#[down]` method takes it last. Methods without a role are left alone. What else
/// there is to each:
///
/// - `#[start]` may return `Result<Self, E>`, with an error or a `StartError`. What it takes is what `spawn`
///   takes: `()` if that is nothing, one argument as it is, several as a tuple. Without it, `spawn` takes the
///   actor itself.
/// - `#[stop]` may take `reason: ExitReason`.
/// - `#[tell]` and `#[stop]` may return `Result<(), E>` whose error displays: an `Err` is reported
///   as an event, and does not end the actor.
/// - `#[ask]` with a type that is written `Result<..>` answers the caller with the value, or with
///   the error as `AskError::Failed`.
/// - `#[ask]` may take `reply: Reply<R>` and return nothing: callers get what is sent to it, now or later, by this
///   actor or by another one (`Reply::forward`).
/// - `#[ask(cancel)]` is for a handler that may be dropped at any of its awaits, because the state is
///   whole there: it is, as soon as its asker goes or the deadline passes, and does not begin if that
///   was before. What it has changed stays, and the actor lives on.
/// - `#[tell]` and `#[ask]` work on `&self` too; an `async` one then needs an actor that is `Sync`.
///   Their arguments are the parts of a message: they are owned, `Send`, and have a name.
/// - `#[local]` may take one value, as `cx.pipe` gives it.
/// - An `async` method may give itself to `cx.after`, `cx.pipe` or `cx.watch`, also by way of other methods of its
///   impl. It then stands in a method of its own name with `__` before it, which errors and backtraces show.
///
/// # Messages that are put aside
///
/// `#[stash(while = condition)]` beside `#[tell]` or `#[ask]` puts a message aside for as long as the condition
/// holds when its turn comes. It is a condition on `&self` and on the arguments, which are references there.
/// `cx.unstash()` brings everything back that was put aside, in order and before newer mail, and the condition is
/// asked again. The actor says in `#[actor(stash = 100)]` how many messages it may put aside; one more is refused,
/// and who asks gets `AskError::Refused`.
///
/// # Handlers of one state
///
/// `#[handlers(state = line)]` names a field of the actor, a `State<Line>` whose `Line` derives `States`. A `#[tell]`
/// or `#[ask]` method with a parameter `#[state] open: &mut Open` then handles its message in that state only. One
/// with `#[state] idle: Idle` leaves it, and returns the next state: `-> Open`, or `-> (Open, u64)` with the answer of
/// an ask. In another state the message is refused, and who asks gets `AskError::Refused`; with `#[stash]` on the
/// method it is put aside, and comes back with the next change of state. Methods without such a parameter handle
/// their message in every state.
///
/// # Handlers that do not hold the actor
///
/// `#[interleave]` beside `#[tell]` or `#[ask]` lets the actor handle other messages while this handler waits. It is
/// an `async fn` without `self`, which takes `cx: &mut Interleaved<Self>` and has the state in `cx.with(|me, cx| ..)`:
/// at once, and not across an await. The actor says in `#[actor(interleave = 16)]` how many handlers may wait so at a
/// time; a message that would be one more holds the mailbox until one of them is done.
///
/// # Protocols
///
/// `#[handlers(api = BookApi)]` makes a type `BookApi`, too: a `Ref<BookApi>` has the same methods
/// as a `Ref<Book>` and does not name the actor's type, which may be private. The generated items
/// are then called `BookApiMessage` and `BookApiCalls`.
///
/// # Other nodes
///
/// `#[handlers(wire = "acme.book/3")]` lets the protocol cross nodes, under that name and version: what
/// handlers take and answer must be `Serialize` and `Deserialize` then, which is checked here and not at
/// the first send. `#[local]` methods never cross. `codec = Type` beside it puts values into bytes by a
/// `greenroom::net::Codec` other than postcard. It needs the runtime's feature `net`.
///
/// # Examples
///
/// ```
/// use greenroom::{Actor, AskError, Context, Ref, System, handlers};
///
/// #[derive(Actor)]
/// struct Account {
///     cents: u64,
/// }
///
/// #[derive(Debug, PartialEq)]
/// struct Overdrawn;
///
/// #[handlers(api = AccountApi)]
/// impl Account {
///     #[start]
///     fn open() -> Self {
///         Account { cents: 0 }
///     }
///
///     /// Adds to the account.
///     #[tell]
///     fn deposit(&mut self, cents: u64) {
///         self.cents += cents;
///     }
///
///     #[ask]
///     async fn withdraw(&mut self, cents: u64) -> Result<u64, Overdrawn> {
///         self.cents = self.cents.checked_sub(cents).ok_or(Overdrawn)?;
///         Ok(self.cents)
///     }
///
///     #[tell]
///     fn close(&mut self, cx: &mut Context<Self>) {
///         cx.stop();
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let account = system.spawn::<Account>(()).await?;
///     account.deposit(100).await?;
///     let account: Ref<AccountApi> = account.api();
///     assert_eq!(account.withdraw(40).await.ok(), Some(60));
///     assert!(matches!(account.withdraw(70).await, Err(AskError::Failed(Overdrawn))));
///     account.close().await?;
///     Ok(())
/// }
/// ```
#[proc_macro_attribute]
pub fn handlers(options: TokenStream, item: TokenStream) -> TokenStream {
    tokens(handlers::expand(options.into(), item.into()))
}

/// Runs an `async fn main`.
///
/// With an argument, `main` gets a `System` that is built from the environment and shut down when
/// `main` returns. Without one it builds its own. It may return whatever a `main` may.
///
/// When `main` returns, the system is shut down within ten seconds, and mail that still waits becomes dead
/// letters; `System::drain` in `main` handles it first.
///
/// # Panics
/// When a variable `GREENROOM_…` has a value that is not right, when no workers or no tokio runtime can be made,
/// and when an actor does not end in time.
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
/// The system is built from the environment and shut down when the test is over, within ten seconds; mail that
/// still waits becomes dead letters, and `System::drain` in the test handles it first.
///
/// # Panics
/// As under [`macro@main`]: a test whose actors do not end in time fails.
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
