//! The slot that the two ends of a oneshot share; see the [module](super) for its states and invariants.

use super::Sender;
use crate::queue::pool;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, UnsafeCell};
use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;

pub(super) const VALUE: usize = 1;
pub(super) const CLOSED: usize = 2;
pub(super) const WAKER: usize = 4;
pub(super) const TAKEN: usize = 8;
pub(super) const GONE: usize = 16;
pub(super) const PASSED: usize = 32;
pub(super) const WORD: usize = 64;
pub(super) const LISTENS: usize = 128;
/// Where the reason for having no value lies.
pub(super) const WHY_SHIFT: u32 = 8;
/// The sender has ended.
pub(super) const ENDED: usize = VALUE | CLOSED;

/// What a sender is to do that comes too late.
pub(super) type Word = Box<dyn FnOnce() + Send>;

pub(super) struct Slot<T> {
    pub(super) state: AtomicUsize,
    deadline: AtomicU64,
    pub(super) begun: AtomicBool,
    pub(super) waker: UnsafeCell<MaybeUninit<Waker>>,
    pub(super) value: UnsafeCell<MaybeUninit<T>>,
    word: UnsafeCell<MaybeUninit<Word>>,
    listener: UnsafeCell<MaybeUninit<Waker>>,
}

impl<T> Slot<T> {
    pub(super) fn acquire() -> NonNull<Self> {
        let slot = pool::acquire(Layout::new::<Self>()).cast::<Self>();
        let empty = Self {
            state: AtomicUsize::new(0),
            deadline: AtomicU64::new(u64::MAX),
            begun: AtomicBool::new(false),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            word: UnsafeCell::new(MaybeUninit::uninit()),
            listener: UnsafeCell::new(MaybeUninit::uninit()),
        };
        // SAFETY: the pool handed out a free block of at least this layout.
        unsafe { slot.write(empty) };
        slot
    }

    /// # Safety
    /// Both sides have left, and everything in the slot is moved out or dropped.
    pub(super) unsafe fn release(slot: NonNull<Self>) {
        // SAFETY: the caller is the last to know the slot.
        unsafe { slot.as_ref() }.note_release();
        // SAFETY: as above.
        unsafe { pool::release(slot.cast(), Layout::new::<Self>()) }
    }

    /// Shows the models that nobody is in the slot any more, whose memory they do not see. Else it does nothing.
    #[inline(always)]
    fn note_release(&self) {
        for place in [&self.waker, &self.listener] {
            place.with_mut(|_| ());
        }
        self.value.with_mut(|_| ());
        self.word.with_mut(|_| ());
    }

    /// As [`Slot::release`], for a slot that may still have a listener.
    ///
    /// # Safety
    /// As [`Slot::release`], but for the listener; `state` tells of it.
    #[cold]
    pub(super) unsafe fn release_with(slot: NonNull<Self>, state: usize) {
        if state & LISTENS != 0 {
            // SAFETY: the caller is the last to know the slot.
            let slot = unsafe { slot.as_ref() };
            // SAFETY: by invariant 4 the place is initialised, and nobody reads it any more.
            drop(slot.listener.with(|place| unsafe { take(place) }));
        }
        // SAFETY: the caller's promise.
        unsafe { Self::release(slot) };
    }

    pub(super) fn deadline(&self) -> u64 {
        // Relaxed: written before the sender was handed over, or before the receiver goes, which order it.
        self.deadline.load(Ordering::Relaxed)
    }

    pub(super) fn set_deadline(&self, deadline: u64) {
        // Relaxed: the hand-over of the sender orders it, or the receiver's going.
        self.deadline.store(deadline, Ordering::Relaxed);
    }

    /// # Safety
    /// The caller owns the initialised value, by invariant 2.
    pub(super) unsafe fn take_value(&self) -> T {
        // SAFETY: the caller's promise.
        self.value.with(|place| unsafe { take(place) })
    }

    /// # Safety
    /// The caller owns the initialised waker.
    pub(super) unsafe fn take_waker(&self) -> Waker {
        // SAFETY: the caller's promise.
        self.waker.with(|place| unsafe { take(place) })
    }

    /// # Safety
    /// The caller is the receiver, before GONE.
    pub(super) unsafe fn put_word(&self, word: Word) {
        // SAFETY: the caller's promise.
        self.word.with_mut(|place| unsafe { (*place).write(word) });
    }

    /// # Safety
    /// The caller owns the initialised word: the receiver before GONE, the sender that saw WORD after it.
    pub(super) unsafe fn take_word(&self) -> Word {
        // SAFETY: the caller's promise.
        self.word.with(|place| unsafe { take(place) })
    }

    /// Puts a sender where the receiver's waker would be.
    ///
    /// # Safety
    /// The caller is the receiver, without WAKER, and before GONE.
    pub(super) unsafe fn put_onward(&self, onward: Sender<T>) {
        const { assert!(size_of::<Sender<T>>() <= size_of::<Waker>()) };
        // SAFETY: the caller's promise; the sender is no larger than the place.
        self.waker.with_mut(|place| unsafe { place.cast::<Sender<T>>().write(onward) });
    }

    /// # Safety
    /// The caller owns the sender that was put there: the receiver before GONE, the sender that saw PASSED
    /// after it.
    pub(super) unsafe fn take_onward(&self) -> Sender<T> {
        // SAFETY: the caller's promise.
        self.waker.with(|place| unsafe { place.cast::<Sender<T>>().read() })
    }

    /// # Safety
    /// As [`Slot::take_onward`]; and nothing else of the sender is used meanwhile.
    pub(super) unsafe fn with_onward<R>(&self, act: impl FnOnce(&mut Sender<T>) -> R) -> R {
        // SAFETY: the caller's promise.
        self.waker.with_mut(|place| act(unsafe { &mut *place.cast::<Sender<T>>() }))
    }

    /// # Safety
    /// The caller is the sender, before LISTENS.
    pub(super) unsafe fn put_listener(&self, listener: Waker) {
        // SAFETY: the caller's promise.
        self.listener.with_mut(|place| unsafe { (*place).write(listener) });
    }

    /// # Safety
    /// LISTENS is there, and the caller is the sender, or the receiver and not gone.
    pub(super) unsafe fn clone_listener(&self) -> Waker {
        self.listener.with(|place| {
            // SAFETY: by invariant 4 nobody writes the place.
            let listener = unsafe { &*place };
            // SAFETY: with LISTENS it is initialised.
            unsafe { listener.assume_init_ref() }.clone()
        })
    }
}

/// # Safety
/// The caller owns the place, which is initialised and not read again.
unsafe fn take<V>(place: *const MaybeUninit<V>) -> V {
    // SAFETY: the caller owns the place.
    let place = unsafe { &*place };
    // SAFETY: the caller's promise.
    unsafe { place.assume_init_read() }
}
