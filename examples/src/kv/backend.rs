//! What stands behind a connection: the shards and the broker, and how a turn asks them.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use greenroom::Ref;

use super::broker::{Broker, Listening};
use super::conversation::Conversation;
use super::info;
use super::job::Job;
use super::resp::Reply;
use super::shard_actor::ShardActor;
use super::shared::Shared;
use super::stats::Cut;
use super::turn::Late;

/// The actors behind the connections.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    pub(crate) shared: Arc<Shared>,
    pub(crate) shards: Arc<[Ref<ShardActor>]>,
    pub(crate) broker: Ref<Broker>,
}

impl Backend {
    /// Has a shard run a job.
    pub(crate) async fn run(&self, shard: usize, job: Box<Job>) -> Result<Box<Job>, Cut> {
        let mut job = self.shards[shard].run(job).await.map_err(|_| Cut::Broken)?;
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
        let ask = |(shard, job): (usize, Box<Job>)| {
            (shard, self.shards[shard].run(job).into_future(), None)
        };
        let mut asked: Vec<_> = [(shard, job), second].into_iter().chain(jobs).map(ask).collect();
        poll_fn(|cx| {
            let mut is_pending = false;
            for (_, ask, answer) in asked.iter_mut().filter(|(_, _, answer)| answer.is_none()) {
                match pin!(ask).poll(cx) {
                    Poll::Ready(reply) => *answer = Some(reply),
                    Poll::Pending => is_pending = true,
                }
            }
            if is_pending { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        for (shard, _, answer) in asked {
            let mut job = answer.and_then(Result::ok).ok_or(Cut::Broken)?;
            job.release().await.map_err(|_| Cut::Broken)?;
            conversation.put_back(shard, job);
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
                reply.map(counts.len());
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
    pub(crate) async fn leave(
        &self,
        client: u64,
        channels: Vec<Box<[u8]>>,
        patterns: Vec<Box<[u8]>>,
    ) {
        // A broker that is gone has forgotten everybody.
        let _ = self.broker.leave(client, channels, patterns).await;
    }
}
