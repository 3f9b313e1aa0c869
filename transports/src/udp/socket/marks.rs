//! Marks of congestion (RFC 3168), as the kernel has them.

use super::{Socket, cutting};
use crate::link::Ecn;
#[cfg(target_os = "linux")]
use nix::sys::socket::sockopt::ReceiveTimestampns;
use quinn_udp::{EcnCodepoint, UdpSocketState};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// What the kernel is asked for by `quinn-udp`, but when datagrams came: that is more than it has room for where they are
/// joined, so that their mark would be cut off.
pub(super) fn state(io: &UdpSocket) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(io.into())?;
    #[cfg(target_os = "linux")]
    {
        // A kernel that refuses this may have refused to turn them on.
        let _ = nix::sys::socket::setsockopt(io, ReceiveTimestampns, &false);
    }
    Ok(state)
}

impl Socket {
    /// Takes segmentation and marks back into use: where an address is gone, or leads nowhere, kernels say what they also say
    /// for want of these. Options of the socket are then as they were at first.
    pub(super) fn regain(&mut self) {
        if let Ok(state) = state(self.io.socket()) {
            self.state = state;
        }
    }

    /// As [`regain`](Self::regain), while something is sent there that IP may cut up, or not.
    pub(super) fn regain_for(&mut self, to: SocketAddr, may_be_cut: bool) {
        self.regain();
        if may_be_cut {
            cutting::set(self.io.socket(), to, true);
        }
    }
}

/// What the kernel is to mark a datagram with. [UDP-34]
pub(super) fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match crate::planted!("sent-unmarked": ecn => Ecn::NotCapable) {
        Ecn::NotCapable => None,
        Ecn::Capable0 => Some(EcnCodepoint::Ect0),
        Ecn::Capable1 => Some(EcnCodepoint::Ect1),
        Ecn::Congested => Some(EcnCodepoint::Ce),
    }
}

/// What a datagram came marked with.
pub(super) fn mark(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotCapable,
        Some(EcnCodepoint::Ect0) => Ecn::Capable0,
        Some(EcnCodepoint::Ect1) => Ecn::Capable1,
        Some(EcnCodepoint::Ce) => Ecn::Congested,
    }
}
