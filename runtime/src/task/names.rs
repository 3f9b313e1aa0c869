//! The names of a system's actors.
//!
//! An actor that ends frees its name before anybody is told of its end. dashmap keeps them, whose locks
//! systematic tests cannot watch; those run on a twin.

#[cfg(not(shuttle))]
mod dash;
#[cfg(shuttle)]
mod locked;

#[cfg(not(shuttle))]
pub(crate) use dash::Names;
#[cfg(shuttle)]
pub(crate) use locked::Names;
