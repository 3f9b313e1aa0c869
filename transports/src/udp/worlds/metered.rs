//! A socket that counts what comes from each address and what goes there: in no world is one that has proved nothing sent more
//! than thrice what came from it. [UDP-51]

use crate::link::Ecn;
use crate::secure::endpoint::Arrival;
use crate::udp::socket::SendError;
use crate::udp::transport::Shared;
use crate::udp::{Datagrams, Udp};
use greenroom::sim::Socket;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

/// See the [module](self).
pub(super) struct Metered {
    socket: Socket,
    meter: Meter,
}

struct Meter {
    node: Arc<OnceLock<Weak<Shared>>>,
    /// Whether its owner has it connect to others, which prove themselves by that.
    asks: bool,
    came: BTreeMap<SocketAddr, usize>,
    went: BTreeMap<SocketAddr, usize>,
    proved: BTreeSet<SocketAddr>,
}

/// The node that is made of a socket, once it is there.
pub(super) struct Metering(Arc<OnceLock<Weak<Shared>>>);

impl Metered {
    pub(super) fn new(socket: Socket, asks: bool) -> (Self, Metering) {
        let node = Arc::default();
        let metering = Metering(Arc::clone(&node));
        let (came, went, proved) = Default::default();
        (Self { socket, meter: Meter { node, asks, came, went, proved } }, metering)
    }
}

impl Metering {
    pub(super) fn begin(self, udp: &Udp) {
        assert!(self.0.set(Arc::downgrade(&udp.shared)).is_ok(), "a socket has one node");
    }
}

impl Meter {
    fn goes(&mut self, to: SocketAddr, bytes: usize) {
        let came = self.came.get(&to).copied().unwrap_or(0);
        let went = self.went.entry(to).or_default();
        let node = self.node.get().and_then(Weak::upgrade).expect("it sends");
        if node.station.lock().has_proved(to) || self.asks && *went == 0 {
            self.proved.insert(to);
        }
        *went += bytes;
        let is_little = *went <= 3 * came;
        assert!(is_little || self.proved.contains(&to), "{went} out for {came} in, to {to}");
    }
}

impl Datagrams for Metered {
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn FnMut(Arrival, &mut [u8]),
    ) -> Poll<io::Result<()>> {
        let came = &mut self.meter.came;
        Datagrams::poll_receive(&mut self.socket, cx, &mut |arrival, datagram| {
            *came.entry(arrival.from).or_default() += datagram.len();
            sink(arrival, datagram);
        })
    }

    fn send(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        ecn: Ecn,
        datagrams: &[u8],
        segment: NonZeroUsize,
    ) -> Result<(), (usize, SendError)> {
        let sent = Datagrams::send(&mut self.socket, from, to, ecn, datagrams, segment);
        let bytes = sent.as_ref().map_or_else(|(bytes, _)| *bytes, |()| datagrams.len());
        self.meter.goes(to, bytes);
        sent
    }

    fn send_cut(
        &mut self,
        from: Option<IpAddr>,
        to: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), SendError> {
        let sent = self.socket.send_cut(from, to, datagram);
        self.meter.goes(to, if sent.is_ok() { datagram.len() } else { 0 });
        sent
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Datagrams::poll_writable(&mut self.socket, cx)
    }

    fn segments_max(&self) -> usize {
        self.socket.segments_max()
    }
}
