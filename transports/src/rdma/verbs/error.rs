//! Why a device does not do what it is asked.

use std::error::Error;
use std::io;

/// An error with what caused it.
pub(in crate::rdma) fn told(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", told(source)))
}

/// Why a device does not open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system's library is not there.
    #[error("{library} is not installed: install the package {package}")]
    NoLibrary {
        /// The file that was looked for.
        library: &'static str,
        /// What brings it, as Debian calls it.
        package: &'static str,
    },
    /// The system's library is there, and has not all that is needed of it.
    #[error("{library} has no function {function}: install a newer package {package}")]
    OldLibrary {
        /// The file that was found.
        library: &'static str,
        /// What was looked for in it.
        function: &'static str,
        /// What brings it, as Debian calls it.
        package: &'static str,
    },
    /// The library knows no device of that name.
    #[error("there is no RDMA device {0}")]
    NoDevice(String),
    /// The device has no such port.
    #[error("the device has no port {0}")]
    NoPort(u8),
    /// The port has no such GID.
    #[error("the port has no GID at index {0}")]
    NoGid(u8),
    /// The port is down.
    #[error("port {0} is down")]
    PortDown(u8),
    /// The user may not: usually `/dev/infiniband/uverbs*` is for root alone.
    #[error("this user may not open the device")]
    NotPermitted,
    /// The device is for iWARP, whose queue pairs connect in another way.
    #[error("the device is for iWARP, and neither for InfiniBand nor for RoCE")]
    Iwarp,
    /// What the system says.
    #[error("the device does not open")]
    System(#[source] io::Error),
}

/// Why memory is not registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// No slot, or slots without bytes.
    #[error("there is nothing to register")]
    Nothing,
    /// More bytes than the device registers at once, or than there are numbers for.
    #[error("more than the {max} bytes that the device registers at once")]
    TooLong {
        /// How many it does.
        max: u64,
    },
    /// More than the process may lock: `RLIMIT_MEMLOCK`.
    #[error(
        "{wanted} bytes more cannot be locked, for RLIMIT_MEMLOCK lets this process lock {limit} in all: raise it by `ulimit -l` in a shell, or by LimitMEMLOCK= in the unit of a service"
    )]
    Locked {
        /// How many bytes were to be registered.
        wanted: u64,
        /// How many the process may lock in all.
        limit: u64,
    },
    /// What the system says.
    #[error("memory is not registered")]
    System(#[source] io::Error),
}

/// Why a part of a device is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// More than the device has.
    #[error("{what}: {asked} asked for, {max} at most")]
    LimitReached {
        /// Of what.
        what: &'static str,
        /// How many were asked for.
        asked: u64,
        /// How many there are.
        max: u64,
    },
    /// There is no memory for it. Queues lie in memory of the process that many devices have locked, too.
    #[error(
        "there is no memory for it: unless the device is full, raise RLIMIT_MEMLOCK, which lets this process lock {limit} bytes in all, by `ulimit -l` in a shell, or by LimitMEMLOCK= in the unit of a service"
    )]
    Locked {
        /// How many bytes the process may lock in all.
        limit: u64,
    },
    /// A part is of another device.
    #[error("a part is of another device")]
    Foreign,
    /// A number means something else to devices: a Q_Key with the highest bit, an owner beyond 32,767.
    #[error("{0} is out of range")]
    Range(&'static str),
    /// The device is gone.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// What the system says.
    #[error("the device does not make it")]
    System(#[source] io::Error),
}

/// Why a queue pair does not connect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It is connected, for datagrams, or failed.
    #[error("the queue pair cannot be connected any more")]
    State,
    /// The ends do not fit: a number is out of range.
    #[error("{0} is out of range")]
    Range(&'static str),
    /// The device is gone.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// What the system says.
    #[error("the queue pair does not connect")]
    System(#[source] io::Error),
}

/// Why a device, or a queue of it, is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// It was pulled away.
    #[error("the device is gone")]
    Gone,
    /// The queue of completions had no room for one.
    #[error("the completion queue overflowed")]
    Overflow,
    /// The queue pair failed.
    #[error("the queue pair failed")]
    Failed,
    /// What the system says, by its number (`errno`).
    #[error("the device says error {0}")]
    System(i32),
}

/// Why a request is not taken, with the slot `S` that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError<S> {
    /// The queue has no room until something completes.
    #[error("the queue is full")]
    Full(S),
    /// More bytes than are in the slot, than go inline or than a datagram has on this path.
    #[error("more bytes than can be sent")]
    TooLong(S),
    /// The queue pair is not connected yet, failed, takes other receives or other addresses.
    #[error("the queue pair is not of that kind, or not in that state")]
    State(S),
    /// The slot or the address is of another device.
    #[error("the slot is of another device")]
    Foreign(S),
}

impl<S> PostError<S> {
    /// The slot.
    pub fn into_slot(self) -> S {
        match self {
            Self::Full(slot) | Self::TooLong(slot) | Self::State(slot) | Self::Foreign(slot) => {
                slot
            }
        }
    }
}
