//! A counted reference to what the cells of a system share.
//!
//! Every cell holds one. A worker that gives one up keeps its count and hands it on to the next cell that it makes,
//! and it gets counts and gives them back many at a time: so workers whose actors come and go mostly leave the count
//! alone, which they share.
//!
//! Invariant: a thread's spare counts stand for references to the core that it is a worker of, and are
//! given back when it is none any more ([`current::leave`]).

use super::core::Core;
use super::current;
use crate::sync::Arc;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// See the [module](self).
pub(crate) struct CoreRef(ManuallyDrop<Arc<Core>>);

impl CoreRef {
    /// One more reference.
    pub(crate) fn to(core: &Arc<Core>) -> Self {
        if current::take_spare(core) {
            // SAFETY: the copy is one more pointer, whose count was the spare's.
            return Self(ManuallyDrop::new(unsafe { std::ptr::read(core) }));
        }
        Self(ManuallyDrop::new(core.clone()))
    }
}

impl Clone for CoreRef {
    fn clone(&self) -> Self {
        Self::to(&self.0)
    }
}

impl Drop for CoreRef {
    fn drop(&mut self) {
        if !current::keep_spare(&self.0) {
            // SAFETY: the value is not used again.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Deref for CoreRef {
    type Target = Core;

    #[inline(always)]
    fn deref(&self) -> &Core {
        &self.0
    }
}

impl fmt::Debug for CoreRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
