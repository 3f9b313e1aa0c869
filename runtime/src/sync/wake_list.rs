//! Who was woken, in order: what a world that runs everything on one thread looks at.

use super::{AtomicBool, Mutex, Ordering};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// Numbers whose wakers were called since they were taken last, each once. Cloning gives another handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct WakeList(Arc<Woken>);

#[derive(Debug, Default)]
struct Woken {
    numbers: Mutex<Vec<usize>>,
    /// Who wants to know when a number is added.
    #[cfg(feature = "test-util")]
    listener: Mutex<Option<Waker>>,
    /// Whether there may be any; a hint that is set after the list and cleared before it.
    any: AtomicBool,
}

#[derive(Debug)]
struct Bell {
    list: WakeList,
    number: usize,
}

impl WakeList {
    /// A waker that puts `number` on the list.
    pub(crate) fn waker(&self, number: usize) -> Waker {
        Arc::new(Bell { list: self.clone(), number }).into()
    }

    /// Puts `number` on the list, behind the others, unless it is there.
    pub(crate) fn add(&self, number: usize) {
        let mut numbers = self.0.numbers.lock();
        if !numbers.contains(&number) {
            numbers.push(number);
        }
        // Release: pairs with the Acquire in `take_into`.
        self.0.any.store(true, Ordering::Release);
        drop(numbers);
        #[cfg(feature = "test-util")]
        if let Some(listener) = &*self.0.listener.lock() {
            listener.wake_by_ref();
        }
    }

    /// Calls `listener` whenever a number is added; `None` to call nobody.
    #[cfg(feature = "test-util")]
    pub(crate) fn listen(&self, listener: Option<Waker>) {
        *self.0.listener.lock() = listener;
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
