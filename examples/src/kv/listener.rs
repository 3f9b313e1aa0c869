//! The actor that accepts connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use greenroom::{Actor, Context, handlers};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::backend::Backend;
use super::connection::{Arrival, Connection};
use super::stats::Cut;

/// How long to wait when the process has no file descriptor left.
const OUT_OF_FILES_PAUSE: Duration = Duration::from_millis(100);

/// Accepts clients until it is told to stop.
#[derive(Actor)]
pub(crate) struct Listener {
    listener: TcpListener,
    backend: Backend,
    closing: Arc<Notify>,
}

#[handlers]
impl Listener {
    #[start]
    fn start(
        listener: std::net::TcpListener,
        backend: Backend,
        closing: Arc<Notify>,
        cx: &mut Context<Self>,
    ) -> io::Result<Self> {
        let listener = TcpListener::from_std(listener)?;
        drop(cx.me().serve().try_send());
        Ok(Self { listener, backend, closing })
    }

    /// Makes a connection actor of every client that comes.
    #[tell]
    async fn serve(&mut self, cx: &mut Context<Self>) {
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = self.closing.notified() => break,
            };
            match accepted {
                Ok((stream, _)) => self.admit(stream, cx),
                // The one lasting reason is a want of file descriptors, which others give back.
                Err(_) => tokio::time::sleep(OUT_OF_FILES_PAUSE).await,
            }
        }
        cx.stop();
    }

    fn admit(&self, stream: TcpStream, cx: &Context<Self>) {
        let shared = &self.backend.shared;
        shared.stats.connections.add(1);
        if shared.client_count() >= shared.limits.clients_max {
            shared.stats.cut(Cut::Crowd);
            // It may have no room for the text, and then it gets none.
            let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
            return;
        }
        // A client that is gone already needs no connection.
        let Ok(arrival) = Arrival::new(stream, shared) else { return };
        // At the top of the system: a client outlives the listener, which ends first.
        let _ = cx.system().spawn::<Connection>((arrival, self.backend.clone())).start();
    }
}
