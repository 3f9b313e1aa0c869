//! The machine's own RDMA devices, by libibverbs.
//!
//! The library is loaded when the first device is looked for, so that one program runs on machines that have
//! it and on those that do not; [`OpenError::NoLibrary`](super::verbs::OpenError::NoLibrary) names the package.
//! The device's driver comes with its own: `ibverbs-providers` on Debian.
//!
//! Waiting needs a tokio runtime with its I/O enabled: the one in which a queue or a device is first polled
//! for an event. Nothing else needs one: a queue pair is connected [apart](super::verbs::Device::connect_apart) by a thread of
//! its own.

mod abi;
mod connecting;
mod device;
mod ffi;
mod files;
mod gids;
mod identities;
mod queues;

pub use connecting::IbConnecting;
pub use device::{IbAddress, IbDevice, IbVerbs};
pub use ffi::Slot as IbSlot;
pub(super) use ffi::lockable_bytes;
pub use gids::{Gid, best_gid, gids};
pub use queues::{IbCompletionQueue, IbQueuePair, IbSharedReceives};

use super::verbs::DeviceError;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What an error of the system's says of the device.
fn device_error(error: &io::Error) -> DeviceError {
    match error.raw_os_error() {
        Some(libc::ENODEV | libc::ENXIO | libc::EIO) => DeviceError::Gone,
        code => DeviceError::System(code.unwrap_or_default()),
    }
}

/// A descriptor that the runtime watches once somebody waits for it.
#[derive(Debug)]
struct Watched<T: AsRawFd>(Option<AsyncFd<Arc<T>>>);

impl<T: AsRawFd> Watched<T> {
    /// Ready with what `take` takes, once that does not say that it would block.
    fn poll<R>(
        &mut self,
        of: &Arc<T>,
        context: &mut Context<'_>,
        take: impl Fn(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let fd = match &mut self.0 {
            Some(fd) => fd,
            none => none.insert(watch(of)?),
        };
        loop {
            let mut ready = ready!(fd.poll_read_ready(context))?;
            match take(of) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                taken => return Poll::Ready(taken),
            }
        }
    }
}

/// The descriptor is open as long as what it is of is counted, and stays the same.
#[allow(deprecated, reason = "its successor came with tokio 1.54, and asks for what is said above")]
fn watch<T: AsRawFd>(of: &Arc<T>) -> io::Result<AsyncFd<Arc<T>>> {
    AsyncFd::with_interest(Arc::clone(of), Interest::READABLE)
}
