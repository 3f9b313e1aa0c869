//! An actor that answers in every way there is.

use greenroom::{Actor, Ask, Calls, Context, Ref, Reply, System, handlers};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

pub(crate) const SHORT: Duration = Duration::from_millis(20);
pub(crate) const NO_TIME: Duration = Duration::ZERO;

/// Answers in every way there is.
#[derive(Actor, Default)]
pub(crate) struct Oracle {
    replies: Vec<Reply<u32>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) u32);

#[handlers]
impl Oracle {
    #[ask]
    fn double(&self, number: u32) -> u32 {
        number * 2
    }
    #[ask]
    async fn double_later(&self, number: u32) -> u32 {
        tokio::task::yield_now().await;
        number * 2
    }
    #[ask]
    pub(crate) fn refuse_odd(&self, number: u32) -> Result<u32, Refusal> {
        if number.is_multiple_of(2) { Ok(number) } else { Err(Refusal(number)) }
    }
    #[ask]
    async fn when(&self, gate: oneshot::Receiver<u32>) -> Option<u32> {
        gate.await.ok()
    }
    #[ask]
    fn remaining(&self, cx: &mut Context<Self>) -> Duration {
        cx.remaining()
    }
    /// Before its first await, and after it.
    #[ask]
    async fn remaining_later(&self, cx: &mut Context<Self>) -> [Duration; 2] {
        let before = cx.remaining();
        tokio::task::yield_now().await;
        [before, cx.remaining()]
    }
    #[tell]
    fn keep(&mut self, reply: Reply<u32>) {
        self.replies.push(reply);
    }
    #[tell]
    fn answer_all(&mut self) {
        self.replies.drain(..).for_each(|reply| reply.send(7));
    }
    #[tell]
    fn forget_all(&mut self) {
        self.replies.clear();
    }
    #[ask]
    fn kept(&self) -> usize {
        self.replies.len()
    }
    #[ask]
    fn abandoned(&self) -> usize {
        self.replies.iter().filter(|reply| reply.is_abandoned()).count()
    }
    /// Another thread answers, when it is told to.
    #[tell]
    fn answer_elsewhere(&mut self, gate: std::sync::mpsc::Receiver<()>) {
        let replies = std::mem::take(&mut self.replies);
        thread::spawn(move || {
            let _ = gate.recv();
            replies.into_iter().for_each(|reply| reply.send(7));
        });
    }
}

pub(crate) async fn oracle(system: &System) -> Ref<Oracle> {
    system.spawn::<Oracle>(Oracle::default()).await.expect("it starts")
}

/// Asks by a message that the actor keeps.
pub(crate) fn keep(oracle: &Ref<Oracle>) -> Ask<'_, OracleMessage, u32> {
    Calls::recipient(&**oracle).call(|reply| OracleMessage::Keep { reply })
}
