//! A path between one client and one server that is long and loses datagrams.

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

/// What a path does to datagrams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// How long each is under way.
    pub(super) delay: Duration,
    /// How many of a hundred are lost.
    pub(super) loss: u64,
    /// Bytes of the longest one that is not lost.
    pub(super) mtu: usize,
    /// Which of them are lost.
    pub(super) seed: u64,
}

/// A relay that runs until the process ends.
#[derive(Debug)]
pub(super) struct Relay {
    /// Where the client is to send.
    pub(super) at: SocketAddr,
    carried: Arc<AtomicU64>,
}

impl Relay {
    /// A relay in front of a server.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn start(server: SocketAddr, path: Path) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let carried = Arc::new(AtomicU64::new(0));
        let (near, far) = runtime.block_on(async {
            let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            far.connect(server).await?;
            std::io::Result::Ok((near, far))
        })?;
        let relay = Self { at: near.local_addr()?, carried: Arc::clone(&carried) };
        thread::spawn(move || runtime.block_on(carry(&near, &far, path, &carried)));
        Ok(relay)
    }

    /// How many bytes have come to one of them.
    pub(super) fn carried(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }
}

/// Carries datagrams between the client, whom `near` hears, and the server, to which `far` is connected.
async fn carry(near: &UdpSocket, far: &UdpSocket, path: Path, carried: &AtomicU64) {
    let client = Cell::new(None);
    let there = way(
        path,
        async |buffer| {
            let (length, from) = near.recv_from(buffer).await?;
            client.set(Some(from));
            Ok(length)
        },
        async |datagram| {
            carried.fetch_add(datagram.len() as u64, Ordering::Relaxed);
            // A full buffer is one more way to lose a datagram.
            let _ = far.send(datagram).await;
        },
    );
    let back = way(
        Path { seed: !path.seed, ..path },
        async |buffer| far.recv(buffer).await,
        async |datagram| {
            carried.fetch_add(datagram.len() as u64, Ordering::Relaxed);
            if let Some(client) = client.get() {
                let _ = near.send_to(datagram, client).await;
            }
        },
    );
    tokio::join!(there, back);
}

/// One direction of a path.
async fn way(
    path: Path,
    mut receive: impl AsyncFnMut(&mut [u8]) -> std::io::Result<usize>,
    mut send: impl AsyncFnMut(&[u8]),
) {
    let mut under_way = VecDeque::<(Instant, Vec<u8>)>::new();
    let mut buffer = vec![0; 1 << 16];
    let mut random = path.seed;
    loop {
        let due = under_way.front().map(|(due, _)| *due);
        tokio::select! {
            received = receive(&mut buffer) => {
                // An error is of a datagram that the other end did not take.
                let Ok(length) = received else { continue };
                if length <= path.mtu && next(&mut random) % 100 >= path.loss {
                    under_way.push_back((Instant::now() + path.delay, buffer[..length].to_vec()));
                }
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let due = |(due, _): &(Instant, Vec<u8>)| *due <= Instant::now();
                while under_way.front().is_some_and(due)
                    && let Some((_, datagram)) = under_way.pop_front()
                {
                    send(&datagram).await;
                }
            }
        }
    }
}

/// The next of a sequence of numbers (Steele, Lea and Flood 2014, `SplitMix64`).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
