//! The actor that serves one client, from accept to close.
//!
//! Its one handler, [`Connection::serve`], runs as long as the connection does: a conversation with a peer is a
//! sequence, and written as one it needs no states. Being busy in it, the actor would not see mail, so what comes from
//! elsewhere (messages on channels, the order to close) comes through a queue that the handler reads beside the
//! socket.
//!
//! Back-pressure: commands are run only when all replies to those before are written. What a client does not read
//! stays in its socket, in the kernel's buffers, and a little here; the shards never wait for it. What it sends
//! meanwhile is read as long as that is not more than [`Limits::AHEAD_BYTES_MAX`] from all clients, and not looked at.

mod ahead;
#[cfg(test)]
mod tests;
mod write;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use greenroom::{Actor, Context, handlers};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use self::ahead::Ahead;
use super::backend::Backend;
use super::client::{Client, Event};
use super::clock::now_ms;
use super::conversation::Conversation;
use super::resp::Proto;
use super::session::Session;
use super::shared::{Limits, Shared};
use super::stats::{Cut, Traffic};
use super::stitch::Stitched;
use super::turn::Late;

/// Serves one client.
#[derive(Actor)]
pub(crate) struct Connection {
    backend: Backend,
    stream: TcpStream,
    events: mpsc::UnboundedReceiver<Event>,
    conversation: Conversation,
    /// Since when a command has been on its way, and how long it may be.
    begun: Option<Instant>,
    /// Since when the server has been closing: finish what has come, then go.
    told_to_close: Option<Instant>,
    ahead: Ahead,
    /// What the budget of all clients knows that this one has.
    told: usize,
    /// Bytes of messages that were taken within a reply: until the turn is over they wait.
    held: u64,
    /// How often it went on since others last had their turn, because it waited or let them go first.
    unpaused: u32,
    /// What was not yet added to the client's record.
    traffic: Traffic,
    _listed: Listed,
}

/// A client that has just come.
#[derive(Debug)]
pub(crate) struct Arrival {
    stream: TcpStream,
    events: mpsc::UnboundedReceiver<Event>,
    listed: Listed,
}

impl Arrival {
    /// Puts the client on the list, where it stays until its connection ends.
    pub(crate) fn new(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_keepalive(&keepalive())?;
        let (sender, events) = mpsc::unbounded_channel();
        let (address, local) = (stream.peer_addr()?, stream.local_addr()?);
        let client = shared.add_client(|id| Client::new(id, address, local, sender));
        Ok(Self { stream, events, listed: Listed { client, shared: Arc::clone(shared) } })
    }
}

/// Has the kernel find out about clients that are gone without a word; the numbers are Redis's.
fn keepalive() -> TcpKeepalive {
    TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3).with_retries(3)
}

/// Takes the client off the list however its connection ends.
#[derive(Debug)]
struct Listed {
    client: Arc<Client>,
    shared: Arc<Shared>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.shared.remove_client(self.client.id);
    }
}

/// Why a wait for input ended.
enum Input {
    /// So many bytes came.
    Bytes(usize),
    /// Something came from elsewhere.
    Event(Event),
    /// The server is closing, and all that was sent is read.
    Close,
    /// The time is up.
    Timeout(Cut),
}

#[handlers]
impl Connection {
    #[start]
    fn start(arrival: Arrival, backend: Backend, cx: &mut Context<Self>) -> Self {
        // The first message of this actor, and the last.
        drop(cx.me().serve().try_send());
        Self::new(arrival, backend)
    }

    /// Serves the client until one of the two has enough.
    #[tell]
    async fn serve(&mut self, cx: &mut Context<Self>) {
        let cut = match self.converse().await {
            Ok(()) => self.conversation.cut,
            Err(cut) => Some(cut),
        };
        if let Some(cut) = cut {
            self.backend.shared.stats.cut(cut);
        }
        if cut.is_some() {
            // Others may need the room before the shards have been told.
            self.conversation.discard();
        }
        self.leave().await;
        cx.stop();
    }
}

impl Connection {
    fn new(arrival: Arrival, backend: Backend) -> Self {
        let Arrival { stream, events, listed } = arrival;
        let session = Session::new(Arc::clone(&listed.client), Arc::clone(&backend.shared));
        let ahead = Ahead::new(Arc::clone(&backend.shared));
        Self {
            backend,
            stream,
            events,
            conversation: Conversation::new(session),
            begun: None,
            told_to_close: None,
            ahead,
            told: 0,
            held: 0,
            unpaused: 0,
            traffic: Traffic::default(),
            _listed: listed,
        }
    }

    /// Takes turns until the connection is to be closed.
    async fn converse(&mut self) -> Result<(), Cut> {
        while !self.conversation.session.is_closing {
            self.look_up().await?;
            let has_more = self.conversation.has_more();
            if self.is_told_for(SERVE_TIMEOUT) || (!has_more && self.is_told_for(CLOSE_TIMEOUT)) {
                return self.hang_up().await;
            }
            if !has_more {
                // All replies are out: what is left is the beginning of a command, like anybody's.
                self.ahead.keep(0);
                if self.backend.shared.budget.is_short() {
                    self.conversation.shrink();
                }
                self.hold(self.conversation.idle_bytes());
                match self.wait().await.map_err(|_| Cut::Broken)? {
                    Input::Bytes(0) => return Ok(()),
                    Input::Bytes(count) => self.traffic.bytes_in += count as u64,
                    Input::Event(event) => {
                        self.deliver(event).await?;
                        self.pace().await?;
                        continue;
                    }
                    Input::Close => return self.hang_up().await,
                    Input::Timeout(cut) => return Err(cut),
                }
            }
            let commands = self.conversation.parse();
            if commands > 0 {
                // What is left over is another command than the one that took its time.
                self.begun = None;
                self.take_turn().await?;
                self.count(commands);
            }
            self.pace().await?;
            // After the turn: the time that the server and the client's reading take is not the command's.
            self.note_partial();
        }
        Ok(())
    }

    /// Takes what came from elsewhere, between any two turns: who sends without a pause is never waited for.
    async fn look_up(&mut self) -> Result<(), Cut> {
        // Not by its event, which may be behind many messages.
        self.check_cut()?;
        match self.events.try_recv() {
            Ok(event) => self.deliver(event).await,
            Err(_) => Ok(()),
        }
    }

    fn check_cut(&self) -> Result<(), Cut> {
        self.conversation.session.client.is_cut().map_or(Ok(()), Err)
    }

    /// Writes this event's message and those of all that wait behind it, as far as they are not too many for one time.
    async fn deliver(&mut self, event: Event) -> Result<(), Cut> {
        let goes_on = self.take_events(event)?;
        self.note_close(goes_on);
        self.write().await
    }

    /// Has the budget of all clients know what this one has.
    fn hold(&mut self, bytes: usize) {
        if bytes != self.told {
            self.told = bytes;
            self.backend.shared.hold(&self.conversation.session.client, bytes);
        }
    }

    /// Notes when the server began to close.
    fn note_close(&mut self, goes_on: bool) {
        if !goes_on {
            self.told_to_close.get_or_insert_with(Instant::now);
        }
    }

    /// Returns whether the server has been closing for so long.
    fn is_told_for(&self, time: Duration) -> bool {
        self.told_to_close.is_some_and(|told| told.elapsed() >= time)
    }

    /// Ends towards a client that may still be sending. Were the socket closed with that unread, the replies that the
    /// client has not read yet would be lost.
    async fn hang_up(&mut self) -> Result<(), Cut> {
        self.stream.shutdown().await.map_err(|_| Cut::Broken)?;
        let (begun, mut rest) = (Instant::now(), vec![0; 16 * 1024]);
        // Who goes on sending has seen the end by then, or does not look.
        while begun.elapsed() < HANG_UP_TIMEOUT {
            match timeout(QUIET_TIMEOUT, self.stream.read(&mut rest)).await {
                Ok(Ok(1..)) => {}
                Ok(Ok(0) | Err(_)) | Err(_) => break,
            }
        }
        Ok(())
    }

    /// Waits for bytes, an event or the end of the client's time.
    async fn wait(&mut self) -> io::Result<Input> {
        let deadline = self.deadline();
        let mut sleep = pin!(deadline.map(|(at, _)| sleep_until(at)));
        let is_told_to_close = self.told_to_close.is_some();
        let Self { stream, events, conversation, unpaused, .. } = self;
        poll_fn(|cx| {
            // A fresh future at each poll holds nothing between polls: what waits is the stream.
            let read = pin!(stream.read_buf(conversation.input())).poll(cx);
            if let Poll::Ready(count) = read {
                return Poll::Ready(count.map(Input::Bytes));
            }
            if is_told_to_close {
                return Poll::Ready(Ok(Input::Close));
            }
            if let Poll::Ready(Some(event)) = events.poll_recv(cx) {
                return Poll::Ready(Ok(Input::Event(event)));
            }
            if let Some(timer) = sleep.as_mut().as_pin_mut()
                && Sleep::poll(timer, cx).is_ready()
            {
                let cut = deadline.map_or(Cut::Idle, |(_, cut)| cut);
                return Poll::Ready(Ok(Input::Timeout(cut)));
            }
            *unpaused = 0;
            Poll::Pending
        })
        .await
    }

    /// Returns when to stop waiting, if ever, and what the client would be cut off for.
    fn deadline(&self) -> Option<(Instant, Cut)> {
        let limits = &self.backend.shared.limits;
        if let Some(begun) = self.begun {
            let bytes = self.conversation.partial_bytes() as u64;
            let earned = Duration::from_secs(bytes / Limits::REQUEST_BYTES_PER_S);
            let at = begun.checked_add(limits.request_timeout)?.checked_add(earned)?;
            return Some((at, Cut::SlowWriter));
        }
        if self.conversation.session.is_listening() {
            return None;
        }
        let idle_timeout = limits.idle_timeout?;
        // A limit that no clock can reach is none.
        Some((Instant::now().checked_add(idle_timeout)?, Cut::Idle))
    }

    /// Starts or stops the clock for a command under way.
    fn note_partial(&mut self) {
        if !self.conversation.is_partial() || self.conversation.has_more() {
            self.begun = None;
        } else if self.begun.is_none() {
            self.begun = Some(Instant::now());
        }
    }

    /// Takes this event and all that wait behind it; `false` if the connection is to be closed.
    fn take_events(&mut self, event: Event) -> Result<bool, Cut> {
        let proto = self.conversation.session.proto;
        let mut next = Some(event);
        while let Some(event) = next {
            if !self.take_event(&event, proto)? {
                return Ok(false);
            }
            if self.conversation.is_long() {
                break;
            }
            next = self.events.try_recv().ok();
        }
        Ok(true)
    }

    /// Takes one event; `false` if the connection is to be closed.
    fn take_event(&mut self, event: &Event, proto: Proto) -> Result<bool, Cut> {
        let client = &self.conversation.session.client;
        let is_within = self.conversation.is_within_reply();
        if is_within {
            self.held += event.bytes() as u64;
        } else {
            let shared = &self.backend.shared;
            client.account.take_waiting(event.bytes() as u64, &shared.budget);
        }
        if let Event::Close = event {
            return match client.is_cut() {
                // Of a transaction all is done: this is seen again as soon as the turn is over.
                Some(_) if is_within => Ok(true),
                Some(cut) => Err(cut),
                None => Ok(false),
            };
        }
        self.conversation.push(event, proto);
        Ok(true)
    }

    /// Takes every message that came before the client ceased to listen: once that is confirmed it expects none. Those
    /// that come in the middle of a reply, as to `EXEC`, are set aside: they would be taken for a part of it.
    async fn take_last_messages(&mut self, proto: Proto) -> Result<(), Cut> {
        while let Ok(event) = self.events.try_recv() {
            let goes_on = self.take_event(&event, proto)?;
            self.note_close(goes_on);
            self.write_if_long().await?;
        }
        Ok(())
    }

    /// Runs a turn, and notes if others had theirs meanwhile. That it asks somebody does not tell: a node that is down
    /// answers at once.
    async fn take_turn(&mut self) -> Result<(), Cut> {
        let mut has_waited = false;
        let done = {
            let mut turn = pin!(self.turn());
            poll_fn(|cx| {
                let done = turn.as_mut().poll(cx);
                has_waited |= done.is_pending();
                done
            })
            .await
        };
        if has_waited {
            self.unpaused = 0;
        }
        done
    }

    /// Runs the commands of one turn and writes their replies.
    async fn turn(&mut self) -> Result<(), Cut> {
        self.backend.run_jobs(&mut self.conversation).await?;
        loop {
            match self.conversation.stitch() {
                Stitched::Done => {
                    let held = std::mem::take(&mut self.held);
                    let client = &self.conversation.session.client;
                    client.account.take_waiting(held, &self.backend.shared.budget);
                    return self.write().await;
                }
                Stitched::Late(late, pushes) => {
                    let ends = matches!(late, Late::Listen { listen: false, .. });
                    self.backend.answer(late, &mut self.conversation).await?;
                    if ends {
                        self.take_last_messages(pushes).await?;
                    }
                    self.write_if_long().await?;
                }
                Stitched::Paused(shard) => {
                    // The client must have taken what there is before more is made.
                    self.write().await?;
                    self.check_cut()?;
                    let job = self.conversation.job(shard).ok_or(Cut::Broken)?;
                    let job = self.backend.run(shard, job).await?;
                    self.conversation.put_back(shard, job);
                }
            }
        }
    }

    /// Lets others see what the turn has changed.
    fn count(&mut self, commands: usize) {
        self.ahead.keep(self.conversation.partial_bytes());
        self.traffic.commands += commands as u64;
        self.traffic.turns += 1;
        let session = &self.conversation.session;
        let mut shown = session.client.shown.lock();
        session.show(&mut shown);
        shown.active_ms = now_ms();
        shown.query_bytes = self.conversation.partial_bytes();
        shown.traffic.add(std::mem::take(&mut self.traffic));
    }

    /// Takes back what others know of the client.
    async fn leave(&mut self) {
        let session = &self.conversation.session;
        if session.has_listened {
            self.backend.leave(session.client.id).await;
        }
        for (shard, job) in self.conversation.end() {
            // A shard that is gone has forgotten everybody.
            let _ = self.backend.run(shard, job).await;
        }
    }
}

/// How often a connection goes on without waiting for anybody before others on its worker have a turn.
const UNPAUSED_MAX: u32 = 8;
/// How long the server, when it closes, takes in what a client sends without a pause.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long it serves what it has taken in: a little that was sent may ask for a lot.
const SERVE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client that goes on sending then has to read the last replies.
const HANG_UP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a client must be silent then to be taken for one that has ended, too.
const QUIET_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a client may be silent before the kernel asks whether it is still there.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(300);
