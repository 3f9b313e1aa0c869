//! What stands behind a connection: the shards and the broker, and how a turn asks them.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use greenroom::Ref;

use super::broker::{Broker, Listening};
use super::cluster::Neighbour;
use super::conversation::Conversation;
use super::info;
use super::job::Job;
use super::resp::Reply;
use super::shard_actor::ShardActor;
use super::shared::Shared;
use super::stats::Cut;
use super::turn::Late;

/// Where a shard is.
#[derive(Clone, Debug)]
pub(crate) enum Home {
    /// On this node.
    Here(Ref<ShardActor>),
    /// On another one.
    There(Arc<Neighbour>),
}

/// The actors behind the connections.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    pub(crate) shared: Arc<Shared>,
    /// Every shard, on whatever node.
    pub(crate) shards: Arc<[Home]>,
    pub(crate) broker: Ref<Broker>,
}

impl Backend {
    /// Has a shard run a job.
    pub(crate) async fn run(&self, shard: usize, job: Box<Job>) -> Result<Box<Job>, Cut> {
        let actor = match &self.shards[shard] {
            Home::Here(actor) => actor,
            Home::There(neighbour) => return Ok(neighbour.run(shard, job).await),
        };
        let mut job = actor.run(job).await.map_err(|_| Cut::Broken)?;
        job.release().await.map_err(|_| Cut::Broken)?;
        Ok(job)
    }

    /// Sends each shard its job of the turn, all at once, and waits for all of them.
    pub(crate) async fn run_jobs(&self, conversation: &mut Conversation) -> Result<(), Cut> {
        let mut jobs = conversation.jobs();
        let Some((shard, job)) = jobs.next() else { return Ok(()) };
        let Some(second) = jobs.next() else {
            drop(jobs);
            let job = self.run(shard, job).await?;
            conversation.put_back(shard, job);
            return Ok(());
        };
        let (mut asked, mut sent) = (Vec::new(), Vec::new());
        for (shard, job) in [(shard, job), second].into_iter().chain(jobs) {
            match &self.shards[shard] {
                Home::Here(actor) => asked.push((shard, actor.run(job).into_future(), None)),
                Home::There(node) => sent.push((shard, Box::pin(node.run(shard, job)), None)),
            }
        }
        poll_fn(|cx| {
            let here = poll_all(&mut asked, cx);
            if poll_all(&mut sent, cx) && here { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        for (shard, _, answer) in asked {
            let mut job = answer.and_then(Result::ok).ok_or(Cut::Broken)?;
            job.release().await.map_err(|_| Cut::Broken)?;
            conversation.put_back(shard, job);
        }
        for (shard, _, answer) in sent {
            conversation.put_back(shard, answer.ok_or(Cut::Broken)?);
        }
        Ok(())
    }

    /// Answers what a turn has come to that no shard can.
    pub(crate) async fn answer(
        &self,
        late: Late,
        conversation: &mut Conversation,
    ) -> Result<(), Cut> {
        let broker = &self.broker;
        let own = conversation.session.proto;
        match late {
            Late::Publish { channel, message } => {
                let published = broker.publish(channel.into(), message.into());
                let count = published.await.map_err(|_| Cut::Broken)?;
                Reply::new(conversation.out(), own).count(count);
            }
            Late::Listen { names, patterns, listen } => {
                let client = Arc::clone(&conversation.session.client);
                conversation.note_listen(&names, patterns, listen);
                let to = Listening { names, patterns, listen };
                broker.listen(client, to).await.map_err(|_| Cut::Broken)?;
            }
            Late::Channels { pattern, proto } => {
                let channels = broker.channels(pattern).await.map_err(|_| Cut::Broken)?;
                let mut reply = Reply::new(conversation.out(), proto);
                reply.array(channels.len());
                channels.iter().for_each(|channel| reply.bulk(channel));
            }
            Late::Listeners { names, proto } => {
                let counts = broker.listeners(names).await.map_err(|_| Cut::Broken)?;
                let mut reply = Reply::new(conversation.out(), proto);
                // Flat for RESP3 too, as from Redis.
                reply.array(counts.len() * 2);
                for (name, count) in counts {
                    reply.bulk(&name);
                    reply.count(count);
                }
            }
            Late::Patterns => {
                let count = broker.patterns().await.map_err(|_| Cut::Broken)?;
                Reply::new(conversation.out(), own).count(count);
            }
            Late::Info { asked, proto, numbers } => {
                let text = info::render(&self.shared, &asked, &numbers);
                Reply::new(conversation.out(), proto).verbatim(text.as_bytes());
            }
        }
        Ok(())
    }

    /// Has the broker forget a client that listened.
    pub(crate) async fn leave(&self, client: u64) {
        // A broker that is gone has forgotten everybody.
        let _ = self.broker.leave(client).await;
    }
}

/// Polls those that are not over; returns whether all are.
fn poll_all<F: Future + Unpin>(
    asked: &mut [(usize, F, Option<F::Output>)],
    cx: &mut std::task::Context<'_>,
) -> bool {
    let mut are_over = true;
    for (_, ask, answer) in asked.iter_mut().filter(|(_, _, answer)| answer.is_none()) {
        match pin!(ask).poll(cx) {
            Poll::Ready(reply) => *answer = Some(reply),
            Poll::Pending => are_over = false,
        }
    }
    are_over
}
