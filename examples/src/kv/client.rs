//! What others can see of a client, and how they reach it: the record behind `CLIENT LIST` and `CLIENT KILL`.

use std::net::SocketAddr;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::budget::{Account, Budget, Waits};
use super::clock::now_ms;
use super::own::FullName;
use super::resp::{Proto, Reply};
use super::stats::{Cut, Traffic};

/// Something that comes to a client from elsewhere.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A message on a channel it listens to; `pattern` if it is by a pattern that it does.
    Message { pattern: Option<Bytes>, channel: Bytes, message: Bytes },
    /// The server is closing: finish, then go.
    Close,
}

impl Event {
    /// Returns about how many bytes wait while this waits.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Message { pattern, channel, message } => {
                size_of::<Self>()
                    + pattern.as_ref().map_or(0, Bytes::len)
                    + channel.len()
                    + message.len()
            }
            Self::Close => 0,
        }
    }

    /// Appends a message as its client reads it.
    pub(crate) fn write(&self, out: &mut Vec<u8>, proto: Proto) {
        let Self::Message { pattern, channel, message } = self else { return };
        let mut reply = Reply::new(out, proto);
        match pattern {
            None => {
                reply.push(3);
                reply.bulk(b"message");
            }
            Some(pattern) => {
                reply.push(4);
                reply.bulk(b"pmessage");
                reply.bulk(pattern);
            }
        }
        reply.bulk(channel);
        reply.bulk(message);
    }
}

/// What changes about a client, brought up to date once per turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) name: Vec<u8>,
    pub(crate) db: usize,
    pub(crate) resp: u8,
    pub(crate) channels: usize,
    pub(crate) patterns: usize,
    /// Commands queued in a transaction, -1 outside of one.
    pub(crate) multi: i64,
    pub(crate) command: FullName,
    pub(crate) active_ms: i64,
    pub(crate) query_bytes: usize,
    pub(crate) traffic: Traffic,
}

/// One client, seen from outside.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) address: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) created_ms: i64,
    pub(crate) shown: Mutex<Shown>,
    events: mpsc::UnboundedSender<Event>,
    /// What it makes the server hold.
    pub(crate) account: Account,
    /// Whether it was told that the server is closing.
    is_told: Mutex<bool>,
    cut: Mutex<Option<Cut>>,
    cutting: Notify,
}

impl Client {
    pub(crate) fn new(
        id: u64,
        address: SocketAddr,
        local: SocketAddr,
        events: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let now = now_ms();
        let shown = Shown {
            resp: 2,
            multi: -1,
            command: FullName::NONE,
            active_ms: now,
            ..Shown::default()
        };
        Self {
            id,
            address,
            local,
            created_ms: now,
            shown: Mutex::new(shown),
            events,
            account: Account::default(),
            is_told: Mutex::new(false),
            cut: Mutex::new(None),
            cutting: Notify::new(),
        }
    }

    /// Hands an event over; cuts the client off instead if more than `bytes_max` bytes would wait then.
    pub(crate) fn send(&self, event: Event, bytes_max: usize, budget: &Budget) {
        match self.account.add_waiting(event.bytes() as u64, bytes_max as u64, budget) {
            // A client that is gone needs no events.
            Waits::Counted => drop(self.events.send(event)),
            Waits::Full => self.cut(Cut::SlowListener),
            Waits::Closed => {}
        }
    }

    /// Tells the client to finish what it has begun, and to go; once, however often it is called.
    pub(crate) fn close(&self) {
        if !std::mem::replace(&mut *self.is_told.lock(), true) {
            drop(self.events.send(Event::Close));
        }
    }

    /// Has the client cut off, whatever it is doing.
    pub(crate) fn cut(&self, reason: Cut) {
        {
            let mut cut = self.cut.lock();
            if cut.is_some() {
                // What it has not taken in yet says so.
                return;
            }
            *cut = Some(reason);
        }
        self.cutting.notify_one();
        drop(self.events.send(Event::Close));
    }

    /// Returns why the client is to be cut off, if it is.
    pub(crate) fn is_cut(&self) -> Option<Cut> {
        *self.cut.lock()
    }

    /// Waits until the client is to be cut off.
    pub(crate) async fn until_cut(&self) {
        self.cutting.notified().await;
    }

    /// Writes the client's line of `CLIENT LIST`.
    pub(crate) fn line(&self) -> Vec<u8> {
        let shown = self.shown.lock().clone();
        let now = now_ms();
        let mut line =
            format!("id={} addr={} laddr={} fd=0 name=", self.id, self.address, self.local)
                .into_bytes();
        line.extend_from_slice(&shown.name);
        let flags = match (shown.channels + shown.patterns, shown.multi) {
            (0, 0..) => ["x", "xe"],
            (0, _) => ["N", "e"],
            _ => ["P", "Pe"],
        }[usize::from(self.account.is_spared())];
        let held = self.account.total();
        line.extend_from_slice(
            format!(
                " age={} idle={} flags={flags} db={} sub={} psub={} ssub=0 multi={} qbuf={} qbuf-free=0 argv-mem=0 \
                 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem={} tot-mem={} events=r cmd={} user=default redir=-1 resp={}\n",
                (now - self.created_ms).max(0) / 1000,
                (now - shown.active_ms).max(0) / 1000,
                shown.db,
                shown.channels,
                shown.patterns,
                shown.multi,
                shown.query_bytes,
                held.saturating_sub(shown.query_bytes as u64),
                held,
                shown.command,
                shown.resp,
            )
            .as_bytes(),
        );
        line
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use bytes::Bytes;
    use tokio::sync::mpsc;

    use super::{Client, Event};
    use crate::kv::budget::Budget;
    use crate::kv::stats::Cut;

    #[test]
    fn a_client_is_told_once_to_go_and_once_that_it_is_cut_off() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let (sender, mut events) = mpsc::unbounded_channel();
        let (client, budget) = (Client::new(1, address, address, sender), Budget::new(0));
        let message = Bytes::from_static(b"message");
        for _ in 0..3 {
            client.close();
        }
        for _ in 0..3 {
            let (channel, message) = (message.clone(), message.clone());
            client.send(Event::Message { pattern: None, channel, message }, 10, &budget);
            client.cut(Cut::Killed);
        }
        assert_eq!(client.is_cut(), Some(Cut::SlowListener), "that came first");
        let mut count = 0;
        while let Ok(event) = events.try_recv() {
            assert!(matches!(event, Event::Close));
            count += 1;
        }
        assert_eq!(count, 2);
    }
}
