//! A socket whose thread is woken when datagrams come. When they may leave again it is woken only while that is waited
//! for: each that leaves makes room, which is news to whoever asked for it.

#[cfg(unix)]
pub(super) use by_descriptor::Registered;
#[cfg(not(unix))]
pub(super) use whole::Registered;

#[cfg(unix)]
mod by_descriptor {
    use std::io;
    use std::net::UdpSocket;
    use std::task::{Context, Poll, ready};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(in super::super) struct Registered {
        reads: AsyncFd<UdpSocket>,
        /// The same socket, while room is waited for.
        writes: Option<AsyncFd<UdpSocket>>,
        /// That one while it is not: whoever has no descriptor left when the socket is full must not lose it.
        twin: Option<UdpSocket>,
    }

    impl Registered {
        pub(in super::super) fn new(socket: UdpSocket) -> io::Result<Self> {
            let twin = Some(socket.try_clone()?);
            Ok(Self { reads: register(socket, Interest::READABLE)?, writes: None, twin })
        }

        pub(in super::super) fn socket(&self) -> &UdpSocket {
            self.reads.get_ref()
        }

        pub(in super::super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.reads.poll_read_ready(cx).map_ok(|mut guard| guard.retain_ready())
        }

        /// Reads if the runtime has seen something to read, and learns from what comes of it.
        pub(in super::super) fn try_read<T>(
            &self,
            read: impl FnOnce(&UdpSocket) -> io::Result<T>,
        ) -> io::Result<T> {
            self.reads.try_io(Interest::READABLE, read)
        }

        pub(in super::super) fn poll_writable(
            &mut self,
            cx: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            if let Some(twin) = self.twin.take() {
                self.writes = Some(register(twin, Interest::WRITABLE)?);
            }
            let Some(writes) = &self.writes else { return Poll::Pending };
            let ready = ready!(writes.poll_write_ready(cx)).map(|_| ());
            self.forget_room();
            Poll::Ready(ready)
        }

        /// Nobody waits for room any more.
        pub(in super::super) fn forget_room(&mut self) {
            if let Some(writes) = self.writes.take() {
                self.twin = Some(writes.into_inner());
            }
        }
    }

    #[allow(
        deprecated,
        reason = "what takes its place is unsafe, for types that change their descriptor; this one never does"
    )]
    fn register(socket: UdpSocket, interest: Interest) -> io::Result<AsyncFd<UdpSocket>> {
        AsyncFd::with_interest(socket, interest)
    }
}

#[cfg(not(unix))]
mod whole {
    use std::io;
    use std::net;
    use std::task::{Context, Poll};
    use tokio::io::Interest;
    use tokio::net::UdpSocket;

    /// The runtime's socket, and a handle of the same one for everything else.
    #[derive(Debug)]
    pub(in super::super) struct Registered {
        io: UdpSocket,
        socket: net::UdpSocket,
    }

    impl Registered {
        pub(in super::super) fn new(socket: net::UdpSocket) -> io::Result<Self> {
            Ok(Self { io: UdpSocket::from_std(socket.try_clone()?)?, socket })
        }

        pub(in super::super) fn socket(&self) -> &net::UdpSocket {
            &self.socket
        }

        pub(in super::super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.io.poll_recv_ready(cx)
        }

        pub(in super::super) fn try_read<T>(
            &self,
            read: impl FnOnce(&net::UdpSocket) -> io::Result<T>,
        ) -> io::Result<T> {
            self.io.try_io(Interest::READABLE, || read(&self.socket))
        }

        pub(in super::super) fn poll_writable(
            &mut self,
            cx: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            // What it has seen is from before the socket was full.
            let _ = self.io.try_io(Interest::WRITABLE, || -> io::Result<()> {
                Err(io::ErrorKind::WouldBlock.into())
            });
            self.io.poll_send_ready(cx)
        }

        pub(in super::super) fn forget_room(&mut self) {}
    }
}
