//! Virtual actors: one for each key, there when it is needed.

use super::address::Ref;
use super::control::{self, Order};
use super::dormancy::{Dormancy, Keeper, Makes};
use super::error::SpawnError;
use super::spawn;
use super::traits::Behavior;
use crate::sync::{Arc, Mutex};
use crate::task::cell::{CellRef, Header};
use crate::task::core_ref::CoreRef;
use crate::task::held::Held;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::ptr::NonNull;
use std::time::Duration;

/// A silence after which a virtual actor stops itself unless told otherwise.
const IDLE: Duration = Duration::from_secs(60);

/// Virtual actors of one type, one for each key `K`.
///
/// [`Keyed::get`] returns a reference at once. The actor starts with its first message, and stops itself
/// when no message has come for a while ([`Keyed::idle`]), or by [`Context::stop`](crate::Context::stop).
/// After that, and after a panic or [`Context::fail`](crate::Context::fail) that its restart policy does
/// not deal with, the next message starts it again; the reference stays valid all the time and no mail
/// is lost. What must outlast an incarnation is for its hooks to load and save.
///
/// Messages keep an actor awake, and so do handlers that still wait. Its own timers, the tasks of
/// [`Context::pipe`](crate::Context::pipe) and its streams do not: they end when it goes to sleep.
///
/// There is never more than one incarnation for a key: the old one ends wholly, its stop hook run, before
/// the next one starts. A key whose actor sleeps and that nobody refers to any more is forgotten, and
/// takes no memory.
///
/// An actor that is stopped, drained or killed from outside ends for good, and so does one whose start
/// hook fails: its references are closed, and [`Keyed::get`] leads to a new one as soon as it has ended.
///
/// Clones are the same actors.
///
/// # Examples
/// ```
/// use greenroom::{Actor, Keyed, System, handlers};
/// use std::time::Duration;
///
/// #[derive(Actor)]
/// struct Account {
///     owner: String,
///     cents: u64,
/// }
///
/// #[handlers]
/// impl Account {
///     #[start]
///     fn start(owner: String) -> Self {
///         Account { owner, cents: 0 } // or load it
///     }
///     #[tell]
///     fn deposit(&mut self, cents: u64) {
///         self.cents += cents;
///     }
///     #[ask]
///     fn balance(&self) -> String {
///         format!("{} has {} cents", self.owner, self.cents)
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let accounts: Keyed<String, Account> = system.keyed(|owner: &String| owner.clone());
///     let accounts = accounts.idle(Duration::from_secs(300));
///     accounts.get("ann".to_owned())?.deposit(500).await?;
///     let ann = accounts.get("ann".to_owned())?;
///     assert_eq!(ann.balance().await?, "ann has 500 cents");
///     Ok(())
/// }
/// ```
pub struct Keyed<K, A: Behavior> {
    core: CoreRef,
    makes: Arc<ArgsOf<K, A>>,
    cells: Cells<K>,
    idle: Duration,
}

/// Makes the arguments of the actor with a key.
type ArgsOf<K, A> = Box<dyn Fn(&K) -> <A as Behavior>::Args + Send + Sync>;

/// The actors of all keys that are in use.
struct Shelf<K> {
    cells: BTreeMap<K, CellRef>,
    /// The key that was looked at last for whether it is needed.
    swept: Option<K>,
}

type Cells<K> = Arc<Mutex<Shelf<K>>>;

/// Keys that are looked at for each new one: more than one, so that they do not pile up.
const SWEPT: usize = 2;

impl<K: Ord + Clone> Shelf<K> {
    /// Has some actors look whether anybody refers to them. One that fell asleep while somebody did
    /// would not notice itself that nobody does any more.
    fn sweep(&mut self) {
        for _ in 0..SWEPT {
            let after = self.swept.take().map_or(Bound::Unbounded, Bound::Excluded);
            let Some((key, cell)) = self.cells.range((after, Bound::Unbounded)).next() else {
                return;
            };
            self.swept = Some(key.clone());
            if cell.references() == OWN_REFERENCES {
                // No back-off is for the first incarnation: it only looks.
                control::send(cell, Order::EndBackoff { incarnation: 0 });
            }
        }
    }
}

impl<K: Ord + Clone + Send + Sync + 'static, A: Behavior> Keyed<K, A> {
    pub(crate) fn new(core: CoreRef, args: impl Fn(&K) -> A::Args + Send + Sync + 'static) -> Self {
        let cells = Arc::new(Mutex::new(Shelf { cells: BTreeMap::new(), swept: None }));
        Self { core, makes: Arc::new(Box::new(args)), cells, idle: IDLE }
    }

    /// Lets actors that are used for the first time from now on, through this value and its later
    /// clones, stop after `span` without a message; by default a minute. With [`Duration::MAX`] they
    /// never do. An actor that sets a [receive timeout](crate::Context::receive_timeout) itself decides
    /// itself.
    #[must_use]
    pub fn idle(mut self, span: Duration) -> Self {
        self.idle = span;
        self
    }

    /// The actor with `key`. Starts nothing, returns at once; O(log n) in the number of keys in use.
    ///
    /// # Errors
    /// [`SpawnError::Closed`] when the system is ending.
    pub fn get(&self, key: K) -> Result<Ref<A>, SpawnError> {
        let mut shelf = self.cells.lock();
        if let Some(cell) = shelf.cells.get(&key) {
            return Ok(Ref::from_cell(cell.clone()));
        }
        let (makes, own) = (self.makes.clone(), key.clone());
        let makes = Makes::<A>(Box::new(move || makes(&own)));
        let place = Place { cells: self.cells.clone(), key: key.clone() };
        let dormancy = Dormancy::new(makes, Box::new(place), self.idle);
        let actor = spawn::asleep::<A>(self.core.clone(), dormancy)?;
        shelf.cells.insert(key, actor.cell().clone());
        shelf.sweep();
        Ok(actor)
    }

    /// How many keys are in use: with an actor that runs, or that somebody referred to lately.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.cells.lock().cells.len()
    }
}

impl<K, A: Behavior> Clone for Keyed<K, A> {
    fn clone(&self) -> Self {
        let Self { core, makes, cells, idle } = self;
        Self { core: core.clone(), makes: makes.clone(), cells: cells.clone(), idle: *idle }
    }
}

impl<K, A: Behavior> fmt::Debug for Keyed<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyed({})", std::any::type_name::<A>())
    }
}

/// Where an actor is found by its key.
struct Place<K> {
    cells: Cells<K>,
    key: K,
}

/// References to a dormant actor that nobody else has: its own, and the one under its key.
const OWN_REFERENCES: usize = 2;

impl<K: Ord + Clone + Send + Sync> Keeper for Place<K> {
    fn forget_unused(&self, held: &mut Held) -> bool {
        let mut shelf = self.cells.lock();
        // Under the lock nobody gets a reference by the key; whoever had one has sent what it sent.
        if held.cell().references() > OWN_REFERENCES || held.has_mail() {
            return false;
        }
        let forgotten = shelf.cells.remove(&self.key);
        drop(shelf);
        forgotten.is_some()
    }

    fn ended(&self, cell: NonNull<Header>) {
        let mut shelf = self.cells.lock();
        let is_its = shelf.cells.get(&self.key).is_some_and(|there| there.as_ptr() == cell);
        let forgotten = if is_its { shelf.cells.remove(&self.key) } else { None };
        drop(shelf);
        // The reference may be the last one, and frees the cell then: not under the lock.
        drop(forgotten);
    }
}
