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
        let shard = match cx.with(|me, _| me.shard(&parcel)) {
            Ok(shard) => shard,
            Err(why) => return refused(why),
        };
        let job = match Job::unpack(parcel) {
            Ok(job) => job,
            Err(error) => return refused(&error.to_string()),
        };
        let Ok(mut job) = shard.run(Box::new(job)).await else {
            return refused("the shard has ended");
        };
        match job.release().await {
            Ok(()) => job.into_answer(),
            Err(error) => refused(&error.to_string()),
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
