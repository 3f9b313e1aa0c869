//! Many datagrams with one call, where the kernel cuts them.

use super::{Socket, marks, places};
use crate::link::Ecn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;

/// What the kernel sends with one call at most: an IPv4 packet, without its headers.
const SEND_BYTES_MAX: usize = 65_507;

impl Socket {
    /// Sends as many with one call as the way there takes.
    pub(super) fn send_all(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
    ) -> Result<(), (usize, io::Error)> {
        let way = places::way(to);
        let most = if self.uncut.has(way) { 1 } else { self.segments_max() };
        let Err((sent, error)) = self.pass(from, to, ecn, datagrams, segment, most) else {
            return Ok(());
        };
        let rest = datagrams.get(sent..).unwrap_or_default();
        let is_uncut = most > 1 && rest.len() > segment.get() && self.is_halted();
        if !crate::planted!("uncut-refused": is_uncut => false) {
            return Err((sent, error));
        }
        // The kernel took segmentation back, and marks with it, which it does if it could not cut what was to go there: the
        // way leads through a tunnel that seals, or by a device that does not add checksums. Others are sent to as before,
        // and there datagrams go one by one for a while, marked as they are to be.
        if crate::planted!("uncut-unmarked": true => false) {
            self.regain();
        }
        let rest = self.pass(from, to, ecn, rest, segment, 1);
        // Otherwise it was for something else.
        if !matches!(&rest, Err((0, _))) {
            self.uncut.insert(way);
        }
        rest.map_err(|(more, error)| (sent + more, error))
    }

    /// Sends so many with one call at most.
    pub(super) fn pass(
        &self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
        most: usize,
    ) -> Result<(), (usize, io::Error)> {
        // One call carries at most 64 KiB, whatever the number of datagrams.
        let fit = (SEND_BYTES_MAX / segment).clamp(1, most.max(1));
        let mut sent = 0;
        for chunk in datagrams.chunks(fit.saturating_mul(segment.get())) {
            let passed = self.send_chunk(from, to, ecn, chunk, segment.get());
            passed.map_err(|error| (sent, error))?;
            sent += chunk.len();
        }
        Ok(())
    }

    fn send_chunk(
        &self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        chunk: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let transmit = quinn_udp::Transmit {
            destination: to,
            ecn: marks::codepoint(ecn),
            contents: chunk,
            segment_size: (chunk.len() > segment).then_some(segment),
            src_ip: from,
        };
        (self.call)(&self.state, self.io.socket().into(), &transmit)
    }
}
