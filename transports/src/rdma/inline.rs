//! How many bytes the queue pairs of a device take inline.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What is asked for where a device refuses more, the most first.
const LESS: [u32; 3] = [96, 64, 0];

/// How many bytes the queue pairs of a device take inline, as far as it was found out. Devices do not say it: some make
/// a queue pair with less than was asked for, others none.
#[derive(Debug)]
pub(super) struct Inline {
    max: AtomicU32,
}

impl Inline {
    /// Nothing was found out.
    pub(super) const fn new() -> Self {
        Self { max: AtomicU32::new(u32::MAX) }
    }

    /// Has `make` make a queue pair with `asked` bytes inline, or with less where the device refuses that. [RDMA-7]
    pub(super) fn make<T>(
        &self,
        asked: u32,
        mut make: impl FnMut(u32) -> io::Result<T>,
    ) -> io::Result<T> {
        // Whatever others found out meanwhile, this is tried, too.
        let mut bytes = asked.min(self.max.load(Relaxed));
        loop {
            match (make(bytes), LESS.into_iter().find(|&less| less < bytes)) {
                (Err(error), Some(less)) if error.kind() == io::ErrorKind::InvalidInput => {
                    bytes = less;
                }
                (made, _) => {
                    if made.is_ok() && bytes < asked {
                        self.max.store(bytes, Relaxed);
                    }
                    return made;
                }
            }
        }
    }
}
