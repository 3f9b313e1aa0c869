//! Pure containers: they know nothing of actors.
//!
//! | part | shape | locked twin |
//! |---|---|---|
//! | [`inbox`] | many producers, one consumer, with the scheduling token in the same word | `inbox::twin` |
//! | [`ring`] | fixed ring: its owner pushes and pops, thieves take half | `ring::twin` |
//! | [`oneshot`] | one value, one producer, one consumer | `oneshot::twin` |
//! | [`list`] | the consumer's own FIFO, no sharing at all | |
//! | [`pool`] | recycled memory blocks | the global allocator |

pub(crate) mod inbox;
pub(crate) mod list;
pub(crate) mod node;
pub(crate) mod oneshot;
pub(crate) mod pool;
pub(crate) mod ring;
