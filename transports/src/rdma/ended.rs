//! Why a queue pair came to its end.

use super::credit::BadCredit;
use super::verbs::{DeviceError, Outcome};

/// Why a connection, or a queue pair for datagrams, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// The device, or the completion queue, is of no more use; nor is any other connection of it.
    #[error(transparent)]
    Device(DeviceError),
    /// Too many receives may be lost with queue pairs that failed; every other connection ends, too.
    #[error("too many receives may be lost")]
    Lost,
    /// A request failed.
    #[error("a request failed: {0:?}")]
    Failed(Outcome),
    /// The peer breaks the rules of credit.
    #[error(transparent)]
    Credit(#[from] BadCredit),
    /// A packet without the count of receives.
    #[error("a packet of {0} bytes")]
    Short(u32),
}
