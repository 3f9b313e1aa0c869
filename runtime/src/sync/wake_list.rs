//! Who was woken, in order: what a world that runs everything on one thread looks at. And whether another thread took
//! part, whose moment no seed repeats.

use super::{AtomicBool, Mutex, Ordering, planted, thread};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Numbers whose wakers were called since they were taken last, each once. Cloning gives another handle.
#[derive(Clone, Debug)]
pub(crate) struct WakeList(Arc<Woken>);

#[derive(Debug)]
struct Woken {
    /// The thread that made the list, and is the only one to use it, by what it has for itself.
    home: usize,
    /// The first other one that did.
    outsider: Mutex<Option<String>>,
    has_outsider: AtomicBool,
    numbers: Mutex<Vec<usize>>,
    /// Whether there may be any; a hint that is set after the list and cleared before it.
    any: AtomicBool,
}

#[derive(Debug)]
struct Bell {
    list: WakeList,
    number: usize,
}

thread_local! {
    static HERE: u8 = const { 0 };
}

/// What tells the threads apart that run now: cheaper than their names for themselves, which are counted references.
fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl WakeList {
    /// A list for the calling thread.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Woken {
            home: here(),
            outsider: Mutex::default(),
            has_outsider: AtomicBool::new(false),
            numbers: Mutex::default(),
            any: AtomicBool::new(false),
        }))
    }

    /// Notes it if the calling thread is not the list's.
    pub(crate) fn check_thread(&self) {
        if planted!("sim-outsider-unseen": here() != self.0.home => false) {
            self.note_outsider(|| {
                let name = thread::current().name().unwrap_or("without a name").to_owned();
                format!("thread {name:?}")
            });
        }
    }

    /// Notes that something other than the list's thread took part.
    pub(crate) fn note_outsider(&self, who: impl FnOnce() -> String) {
        self.0.outsider.lock().get_or_insert_with(who);
        // Release: pairs with the Acquire in `outsider`.
        self.0.has_outsider.store(true, Ordering::Release);
    }

    /// Who took part first, of those who must not.
    pub(crate) fn outsider(&self) -> Option<String> {
        // Acquire: pairs with the Release in `note_outsider`.
        self.0.has_outsider.load(Ordering::Acquire).then(|| self.0.outsider.lock().clone())?
    }

    /// A waker that puts `number` on the list.
    pub(crate) fn waker(&self, number: usize) -> Waker {
        Arc::new(Bell { list: self.clone(), number }).into()
    }

    /// Puts `number` on the list, behind the others, unless it is there.
    pub(crate) fn add(&self, number: usize) {
        self.check_thread();
        let mut numbers = self.0.numbers.lock();
        if !numbers.contains(&number) {
            numbers.push(number);
        }
        // Release: pairs with the Acquire in `take_into`.
        self.0.any.store(true, Ordering::Release);
    }

    /// Whether a number is on the list.
    #[cfg(feature = "test-util")]
    pub(crate) fn is_any(&self) -> bool {
        // Acquire: pairs with the Release in `add`.
        self.0.any.load(Ordering::Acquire)
    }

    /// Moves the numbers to the end of `taken`.
    pub(crate) fn take_into(&self, taken: &mut Vec<usize>) {
        // Acquire: pairs with the Release in `add`.
        if !self.0.any.load(Ordering::Acquire) {
            return;
        }
        let mut numbers = self.0.numbers.lock();
        // Relaxed: the lock orders it.
        self.0.any.store(false, Ordering::Relaxed);
        taken.append(&mut numbers);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.list.add(self.number);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.list.add(self.number);
    }
}
