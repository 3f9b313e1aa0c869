//! A relay between one client and one server that does to datagrams what bad networks do, by seed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

/// What the relay does, in percent of the datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) drop: u64,
    pub(crate) duplicate: u64,
    pub(crate) corrupt: u64,
    /// Each datagram waits for less than this, so that some overtake others.
    pub(crate) delay: Duration,
    /// After how many datagrams from the client the relay speaks to the server from another port, as an
    /// address translator does that has forgotten; 0 never.
    pub(crate) rebind_after: u64,
    /// Bytes that it carries in a second in each direction, one datagram after the other; 0 sets no rate.
    pub(crate) bytes_per_second: u64,
    /// Bytes that wait for that in each direction at most; of more the last are dropped.
    pub(crate) queue_bytes: u64,
}

/// What the relay has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) carried: u64,
    pub(crate) dropped: u64,
    pub(crate) duplicated: u64,
    pub(crate) corrupted: u64,
    /// Dropped because too much waited.
    pub(crate) overflowed: u64,
}

pub(crate) struct Relay {
    rules: Rules,
    seed: u64,
    inside: UdpSocket,
    outside: UdpSocket,
    server: SocketAddr,
    client: Option<SocketAddr>,
    from_client: u64,
    waiting: BTreeMap<(Instant, u64), (bool, Vec<u8>)>,
    /// Until when the way to the client is busy, and that to the server.
    busy: [Instant; 2],
    pub(crate) done: Done,
    /// Every datagram before anything was done to it, and whether it went to the server.
    pub(crate) seen: Vec<(bool, Vec<u8>)>,
}

impl Relay {
    /// A relay in front of `server`, at an address that [`address`](Self::address) tells.
    pub(crate) async fn new(server: SocketAddr, seed: u64, rules: Rules) -> Self {
        let any = SocketAddr::new(server.ip(), 0);
        let bind = async || UdpSocket::bind(any).await.expect("a port is free");
        Self {
            rules,
            seed,
            inside: bind().await,
            outside: bind().await,
            server,
            client: None,
            from_client: 0,
            waiting: BTreeMap::new(),
            busy: [Instant::now(); 2],
            done: Done::default(),
            seen: Vec::new(),
        }
    }

    /// Where the client is to send.
    pub(crate) fn address(&self) -> SocketAddr {
        self.inside.local_addr().expect("the socket is bound")
    }

    /// Carries datagrams for ever.
    pub(crate) async fn run(&mut self) {
        let (mut one, mut other) = (vec![0; 65_536], vec![0; 65_536]);
        loop {
            let due = self.waiting.first_key_value().map(|(at, _)| at.0);
            let far = Instant::now() + Duration::from_secs(60);
            tokio::select! {
                Ok((length, from)) = self.inside.recv_from(&mut one) => {
                    self.client = Some(from);
                    self.from_client += 1;
                    if self.from_client == self.rules.rebind_after {
                        let any = SocketAddr::new(self.server.ip(), 0);
                        self.outside = UdpSocket::bind(any).await.expect("a port is free");
                    }
                    self.take(true, &one[..length]);
                }
                Ok((length, _)) = self.outside.recv_from(&mut other) => self.take(false, &other[..length]),
                () = sleep_until(due.unwrap_or(far)) => self.give().await,
            }
        }
    }

    fn take(&mut self, to_server: bool, datagram: &[u8]) {
        self.seen.push((to_server, datagram.to_vec()));
        if self.chance(self.rules.drop) {
            self.done.dropped += 1;
            return;
        }
        let mut datagram = datagram.to_vec();
        if self.chance(self.rules.corrupt) && !datagram.is_empty() {
            self.done.corrupted += 1;
            let bit = (self.random() % (datagram.len() as u64 * 8)) as usize;
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
        let copies = if self.chance(self.rules.duplicate) { 2 } else { 1 };
        self.done.duplicated += copies - 1;
        for _ in 0..copies {
            let Some(sent) = self.sent_at(to_server, datagram.len()) else {
                self.done.overflowed += 1;
                continue;
            };
            self.done.carried += 1;
            let wait = self.rules.delay.mul_f64((self.random() % 1_000) as f64 / 1_000.0);
            let at = (sent + wait, self.done.carried);
            self.waiting.insert(at, (to_server, datagram.clone()));
        }
    }

    /// When a datagram of that length has left, as a link of the simulator counts it; `None` if too much waits.
    fn sent_at(&mut self, to_server: bool, length: usize) -> Option<Instant> {
        let now = Instant::now();
        let Rules { bytes_per_second: rate, queue_bytes, .. } = self.rules;
        if rate == 0 {
            return Some(now);
        }
        let busy = &mut self.busy[usize::from(to_server)];
        let begins = (*busy).max(now);
        let waiting = (begins - now).as_secs_f64() * rate as f64;
        if waiting + length as f64 > queue_bytes as f64 {
            return None;
        }
        *busy = begins + Duration::from_secs_f64(length as f64 / rate as f64);
        Some(*busy)
    }

    async fn give(&mut self) {
        let now = Instant::now();
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to_server, datagram) = entry.remove();
            // A full buffer is one more way to lose a datagram.
            if to_server {
                drop(self.outside.send_to(&datagram, self.server).await);
            } else if let Some(client) = self.client {
                drop(self.inside.send_to(&datagram, client).await);
            }
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random() % 100 < percent
    }

    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ (mixed >> 29)
    }
}
