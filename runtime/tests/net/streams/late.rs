//! Streams of whose end the other node hears late.

use crate::overtaking::Way;
use crate::stage::Place;
use crate::support::{LONG, run, soon, until, until_async};
use greenroom::net::{Envelope, Export, Frame, Loopback};
use greenroom::{Actor, AskError, Emitter, Items, Scheduler, handlers};
use parking_lot::Mutex;
use std::sync::Arc;

const FINISH: u32 = 2;
/// As many as go at a time.
const MANY: usize = 1024;

/// Keeps the streams that it is given.
#[derive(Actor)]
struct Shelf {
    kept: Arc<Mutex<Vec<Items<u8>>>>,
}

#[handlers(wire = "test.shelf/1")]
impl Shelf {
    #[ask]
    fn keep(&mut self, streams: Vec<Items<u8>>) {
        self.kept.lock().extend(streams);
    }
}

fn streams(count: usize) -> (Vec<Emitter<u8>>, Vec<Items<u8>>) {
    (0..count).map(|_| Items::bounded(1)).unzip()
}

// [G-STREAM-3] [ENV-20]
#[test]
fn streams_may_overtake_word_of_the_end_of_others() {
    let network = Loopback::new().frames_max(4 * MANY);
    run(async {
        let there = Place::new(&network, "there", Scheduler::stealing());
        let kept = Arc::default();
        let near = there.system.spawn::<Shelf>(Shelf { kept: Arc::clone(&kept) }).await.unwrap();
        there.node.export("shelf", Export::of(&near)).unwrap();
        let is_end = |frame: &Frame<'_>| {
            matches!(frame, Frame::Tell(Envelope { actor: 0, message: FINISH, .. }))
        };
        let way = Way::new(is_end);
        let (here, node) = way.node(&network, "here");
        let peer = soon(node.connect(&"loopback:there".parse().unwrap())).await.unwrap();
        let far = soon(peer.find::<Shelf>("shelf")).await.unwrap();
        let actors = || {
            let counts = here.counts();
            counts.started - counts.ended
        };
        assert_eq!(far.keep(Vec::new()).await, Ok(()), "all others have started by then");
        let but_for_streams = actors();
        let (emitters, some) = streams(MANY);
        assert_eq!(far.keep(some).await, Ok(()));
        emitters.into_iter().for_each(Emitter::finish);
        // Each goes until its actor has ended.
        until(|| way.held() == MANY && actors() == but_for_streams).await;
        // As many may go again, of which none is refused.
        let (mut emitters, others) = streams(MANY);
        assert_eq!(far.keep(others).await, Ok(()));
        // But no third time: the other node would refuse that.
        emitters.pop().unwrap().finish();
        until(|| way.held() == MANY + 1).await;
        assert_eq!(far.keep(streams(1).1).await, Err(AskError::NoReply));
        until(|| here.counts().over_limit == 1).await;
        way.clear();
        let first: Vec<_> = kept.lock().drain(..MANY).collect();
        for mut stream in first {
            assert_eq!(soon(stream.try_next()).await, Ok(None));
        }
        until_async(async || far.keep(streams(1).1).await.is_ok()).await;
        here.shutdown(LONG).await.unwrap();
        there.shut().await;
    });
}
