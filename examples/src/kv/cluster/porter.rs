//! The actor that other nodes' jobs come to.

use std::sync::Arc;

use greenroom::{Actor, Interleaved, Ref, handlers};

use crate::kv::job::{Answer, Job, Parcel};
use crate::kv::layout::Layout;
use crate::kv::shard_actor::ShardActor;

/// Hands jobs from other nodes to the shards of this one. Many wait at a time, each for its shard or the disk, and
/// nobody behind them does.
#[derive(Actor)]
#[actor(mailbox = bounded(256), interleave = 1024)]
pub(crate) struct Porter {
    shards: Arc<[Ref<ShardActor>]>,
    layout: Layout,
}

#[handlers(wire = "greenroom.kv/2")]
impl Porter {
    #[start]
    fn start(shards: Arc<[Ref<ShardActor>]>, layout: Layout) -> Self {
        Self { shards, layout }
    }

    /// Runs what is left of a job.
    #[ask]
    #[interleave]
    async fn run(cx: &mut Interleaved<Self>, parcel: Parcel) -> Answer {
        let refused = |why: &str| Answer::Refused(why.to_owned());
        let unknown = |why: &str| Answer::Unknown(why.to_owned());
        let shard = match cx.with(|me, _| me.shard(&parcel)) {
            Ok(shard) => shard,
            Err(why) => return refused(why),
        };
        let job = match Job::unpack(parcel) {
            Ok(job) => job,
            Err(error) => return refused(&error.to_string()),
        };
        let Ok(mut job) = shard.run(Box::new(job)).await else {
            return unknown("the shard has ended");
        };
        match job.release().await {
            Ok(()) => job.into_answer(),
            Err(error) => unknown(&error.to_string()),
        }
    }
}

impl Porter {
    fn shard(&self, parcel: &Parcel) -> Result<Ref<ShardActor>, &'static str> {
        if parcel.layout != self.layout.fingerprint() {
            return Err("the nodes' files name other nodes with shards, or --shards differs");
        }
        let place = self
            .layout
            .first()
            .and_then(|first| usize::try_from(parcel.shard).ok()?.checked_sub(first));
        place.and_then(|place| self.shards.get(place)).cloned().ok_or("the shard is not here")
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use greenroom::System;
    use greenroom::net::{Manifest, lock};

    use super::*;
    use crate::kv::job::Task;
    use crate::kv::resp::Proto;
    use crate::kv::shared::{Limits, Shared};
    use crate::kv::store::WatchId;

    /// Nodes of a cluster are upgraded one after the other.
    #[test]
    fn nodes_speak_what_was_committed() {
        lock::assert_unchanged("wire.lock", &[Manifest::of::<Porter>()]);
    }

    #[tokio::test]
    async fn of_a_shard_that_has_ended_nobody_knows_what_it_did() {
        let system = System::builder().workers(1).build().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let shared = Arc::new(Shared::new(Limits::default(), address, 1, 1, "none".to_owned()));
        let shard = system.spawn::<ShardActor>((0, shared, None)).named("shard").await.unwrap();
        let layout = Layout::alone(1);
        let parcel = |layout: u64| {
            let mut job = Job::new(WatchId { node: 1, client: 1 });
            job.push(Task::Unwatch, 0, Proto::Resp2, std::iter::empty());
            job.pack(0, layout, usize::MAX)
        };
        let shards: Arc<[_]> = Arc::from([shard.clone()]);
        let porter = system.spawn::<Porter>((shards, layout.clone())).named("porter");
        let porter = porter.await.unwrap();
        let print = layout.fingerprint();
        assert!(matches!(porter.run(parcel(print)).await, Ok(Answer::Ran { .. })));
        assert!(matches!(porter.run(parcel(print + 1)).await, Ok(Answer::Refused(_))));
        shard.stop();
        shard.ended().await;
        assert!(matches!(porter.run(parcel(print)).await, Ok(Answer::Unknown(_))));
        system.shutdown(Duration::from_secs(100)).await.unwrap();
    }
}
