//! A relay between one client and one server that does to datagrams what bad networks do, by seed. Its wire is one of a
//! simulated world in which as much time goes by as here: so it has the simulator's own rules.

use greenroom::sim::{Link, Socket, Traffic, World};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it looks for what has arrived, while something is on its way.
const TURN: Duration = Duration::from_millis(1);
/// How often it looks whether it has ended.
const PATIENCE: Duration = Duration::from_millis(100);
/// Each end's port in the simulated world.
const PORT: u16 = 7;

/// What the relay does.
pub(crate) struct Rules {
    /// To datagrams, in each direction.
    pub(crate) link: Link,
    /// After how many datagrams from the client it speaks to the server from another port, as an address translator does
    /// that has forgotten; 0 never.
    pub(crate) rebind_after: u64,
}

/// What the relay has done.
pub(crate) struct Done {
    pub(crate) traffic: Traffic,
    /// Every datagram before anything was done to it, and whether it went to the server.
    pub(crate) seen: Vec<(bool, Vec<u8>)>,
}

/// Carries datagrams until it [ends](Self::end).
pub(crate) struct Relay {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Done>>,
}

impl Relay {
    /// A relay in front of `server`, at an address that [`address`](Self::address) tells.
    pub(crate) fn new(server: SocketAddr, seed: u64, rules: Rules) -> Self {
        let inside = bind_beside(server);
        let address = inside.local_addr().expect("the socket is bound");
        let is_over = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&is_over);
        let carry = move || Wire::new(server, inside, seed, rules, ending).carry();
        Self { address, is_over, thread: Some(thread::spawn(carry)) }
    }

    /// Where the client is to send.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, and says what it has done.
    pub(crate) fn end(mut self) -> Done {
        self.is_over.store(true, Relaxed);
        let thread = self.thread.take().expect("it ends once");
        thread.join().expect("nothing goes wrong in it")
    }
}

impl Drop for Relay {
    /// Also where a test has failed.
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

fn bind_beside(server: SocketAddr) -> UdpSocket {
    UdpSocket::bind(SocketAddr::new(server.ip(), 0)).expect("a port is free")
}

/// Who sends, and who receives.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Client,
    /// To whom the relay speaks from its first port, or a later one.
    Server(u64),
}

/// What has come from an end, and from which address.
type Came = (End, SocketAddr, Vec<u8>);

struct Wire {
    server: SocketAddr,
    rules: Rules,
    is_over: Arc<AtomicBool>,
    began: Instant,
    world: World,
    /// The client's end of the simulated wire, and the server's.
    ends: [Socket; 2],
    inside: UdpSocket,
    outside: UdpSocket,
    /// How often it has spoken from another port.
    rebound: u64,
    client: Option<SocketAddr>,
    from_client: u64,
    seen: Vec<(bool, Vec<u8>)>,
}

impl Wire {
    fn new(
        server: SocketAddr,
        inside: UdpSocket,
        seed: u64,
        rules: Rules,
        is_over: Arc<AtomicBool>,
    ) -> Self {
        let mut world = World::new(seed);
        world.set_links(rules.link);
        let ends = ["client", "server"]
            .map(|name| world.node(name).start().bind(PORT).expect("nobody else is there"));
        Self {
            server,
            rules,
            is_over,
            began: Instant::now(),
            world,
            ends,
            inside,
            outside: bind_beside(server),
            rebound: 0,
            client: None,
            from_client: 0,
            seen: Vec::new(),
        }
    }

    fn carry(mut self) -> Done {
        let (came, coming) = mpsc::channel();
        self.read(&self.inside, End::Client, &came);
        self.read(&self.outside, End::Server(0), &came);
        while !self.is_over.load(Relaxed) {
            let patience = if self.is_empty() { PATIENCE } else { TURN };
            if let Ok(first) = coming.recv_timeout(patience) {
                self.catch_up();
                for one in std::iter::once(first).chain(coming.try_iter()) {
                    self.take(one, &came);
                }
            }
            self.catch_up();
            self.give();
        }
        Done { traffic: self.world.traffic(), seen: self.seen }
    }

    /// Begins to read what comes to a socket.
    fn read(&self, socket: &UdpSocket, end: End, came: &Sender<Came>) {
        let socket = socket.try_clone().expect("there are file descriptors");
        socket.set_read_timeout(Some(PATIENCE)).expect("it is not zero");
        let (is_over, came) = (Arc::clone(&self.is_over), came.clone());
        thread::spawn(move || {
            let mut datagram = vec![0; 65_536];
            while !is_over.load(Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut datagram) else { continue };
                if came.send((end, from, datagram[..length].to_vec())).is_err() {
                    return;
                }
            }
        });
    }

    /// Lets as much time go by in the world as here.
    fn catch_up(&mut self) {
        self.world.run_for(self.began.elapsed().saturating_sub(self.world.now()));
    }

    /// Whether nothing is on its way.
    fn is_empty(&self) -> bool {
        let Traffic { sent, doubled, arrived, lost, too_long, overflowed, .. } =
            self.world.traffic();
        sent + doubled == arrived + lost + too_long + overflowed
    }

    fn take(&mut self, (end, from, datagram): Came, came: &Sender<Came>) {
        let [client, server] = &self.ends;
        match end {
            End::Client => {
                self.client = Some(from);
                client.send(server.address(), &datagram);
                self.from_client += 1;
                if self.from_client == self.rules.rebind_after {
                    self.outside = bind_beside(self.server);
                    self.rebound += 1;
                    self.read(&self.outside, End::Server(self.rebound), came);
                }
            }
            End::Server(rebound) if rebound == self.rebound => {
                server.send(client.address(), &datagram);
            }
            // Nobody is there any more.
            End::Server(_) => return,
        }
        self.seen.push((end == End::Client, datagram));
    }

    /// Sends on what has arrived. A receiver's full buffer is one more way to lose a datagram.
    fn give(&self) {
        let [client, server] = &self.ends;
        while let Ok(Some(datagram)) = server.try_receive() {
            drop(self.outside.send_to(&datagram.bytes, self.server));
        }
        while let (Some(at), Ok(Some(datagram))) = (self.client, client.try_receive()) {
            drop(self.inside.send_to(&datagram.bytes, at));
        }
    }
}
