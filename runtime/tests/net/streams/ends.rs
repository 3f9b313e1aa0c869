//! However a stream ends: once, for both ends of it, and both hear why.

use super::{Feeder, Store, bytes, store};
use crate::stage::{Place, between, once};
use crate::support::{LONG, soon, until, until_async};
use greenroom::net::{Bytes, Codec, Export, Loopback, Postcard};
use greenroom::{AskError, Cut, EmitError, Emitter, Items, Ref, Undelivered};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Emits until it is told that there is no use.
async fn refused(emitter: &Emitter<Bytes>) -> EmitError<Bytes> {
    soon(async {
        loop {
            if let Err(error) = emitter.emit(bytes(0, 100)).await {
                return error;
            }
        }
    })
    .await
}

// [G-STREAM-3]
#[test]
fn a_dropped_emitter_cuts_the_stream() {
    between(Loopback::new, async |_, here, there| {
        let (near, far, _gate) = store(here, there).await;
        for store in [&near, &far] {
            let (emitter, content) = Items::bounded(2);
            let other = emitter.clone();
            emitter.emit(bytes(0, 10)).await.unwrap();
            emitter.finish();
            // The other one may have had more.
            drop(other);
            assert_eq!(store.put(content).await, Err(AskError::Failed(Cut::Abandoned.to_string())));
        }
    });
}

// [G-STREAM-3]
#[test]
fn a_reader_that_leaves_or_dies_is_told_to_the_emitter() {
    type Leave = fn(&Ref<Store>, &Ref<Store>);
    let leaves: [Leave; 4] = [
        |_, far| far.let_go().try_send().unwrap(),
        |_, far| far.panic().try_send().unwrap(),
        |near, _| assert!(near.stop()),
        |near, _| assert!(near.kill()),
    ];
    between(Loopback::new, async |_, here, there| {
        for leave in leaves {
            let (near, far, _gate) = store(here, there).await;
            let (emitter, content) = Items::bounded(2);
            far.hold(content).await.unwrap();
            // It is read so far that items are under way.
            for _ in 0..5 {
                soon(emitter.emit(bytes(0, 100))).await.unwrap();
            }
            leave(&near, &far);
            assert!(matches!(refused(&emitter).await, EmitError::Closed(_)));
            near.stop();
            soon(near.ended()).await;
            until(|| there.node.export("probe", Export::of(&near)).is_err()).await;
            there.node.withdraw("store");
        }
    });
}

// [G-STREAM-3]
#[test]
fn the_end_of_the_connection_is_told_to_both_ends() {
    between(Loopback::new, async |network, here, there| {
        let (near, far, _gate) = store(here, there).await;
        let (emitter, content) = Items::bounded(2);
        let (unread, held) = Items::bounded(2);
        far.take(content).await.unwrap();
        far.hold(held).await.unwrap();
        let mut coming = far.get(1 << 30, 1000).await.unwrap();
        for _ in 0..50 {
            soon(emitter.emit(bytes(0, 10))).await.unwrap();
            soon(coming.try_next()).await.unwrap().unwrap();
        }
        network.cut("here", "there");
        assert!(matches!(refused(&emitter).await, EmitError::NodeDown(_)));
        assert!(matches!(refused(&unread).await, EmitError::NodeDown(_)));
        until_async(async || near.taken().await.unwrap().1 == Some(false)).await;
        let cut = soon(async {
            loop {
                if let Err(cut) = coming.try_next().await {
                    return cut;
                }
            }
        });
        assert_eq!(cut.await, Cut::NodeDown);
        assert_eq!(coming.next().await, None);
    });
}

/// A stream in a message that is not read is not read either: whoever emits hears of it as if the message were dropped.
// [ENV-21]
#[test]
fn a_message_that_is_refused_takes_its_streams_with_it() {
    between(Loopback::new, async |_, here, there| {
        let (near, far, gate) = store(here, there).await;
        let nobody = Arc::new(Semaphore::new(0));
        let other = there.system.spawn::<Store>(nobody).await.unwrap();
        there.node.export("other", Export::of(&other)).unwrap();
        let gone = here.reach(there).await.find::<Store>("other").await.unwrap();
        // In the mailbox when its actor ends.
        let (emitter, content) = Items::bounded(1);
        let (waiting, kept) = Items::bounded(1);
        let asked = gone.clone();
        let held = tokio::spawn(async move { asked.hold_later(kept).within(LONG).await });
        gone.hold(content).await.unwrap();
        other.kill();
        for emitter in [&emitter, &waiting] {
            assert!(matches!(refused(emitter).await, EmitError::Closed(_)));
        }
        assert!(soon(held).await.unwrap().is_err());
        // Too late for its actor.
        gate.add_permits(1);
        near.stop();
        let (told, content) = Items::bounded(1);
        let (asked, put) = Items::bounded(1);
        let _ = far.hold(content).await;
        let answer = far.put(put).await;
        let ended = AskError::Undelivered(Undelivered::NoSuchActor);
        assert!(matches!(&answer, Err(error) if *error == ended || *error == AskError::Closed));
        for emitter in [&told, &asked] {
            assert!(matches!(refused(emitter).await, EmitError::Closed(_)));
        }
    });
}

/// An item that no frame holds is a dead letter, and the stream is cut there.
// [G-STREAM-3]
#[test]
fn an_item_that_is_too_large_cuts_the_stream() {
    once(Loopback::new(), async |_, here, there| {
        let (_, far, _gate) = store(here, there).await;
        let (emitter, content) = Items::bounded(2);
        let putting = tokio::spawn(async move { far.put(content).within(LONG).await });
        emitter.emit(bytes(0, 100)).await.unwrap();
        emitter.emit(vec![0; 17 << 20].into()).await.unwrap();
        assert!(matches!(refused(&emitter).await, EmitError::Closed(_)));
        assert_eq!(soon(putting).await.unwrap(), Err(AskError::Failed(Cut::Abandoned.to_string())));
        assert_eq!(here.system.counts().undelivered, 1);
    });
}

// [ENV-20]
#[test]
fn a_stream_goes_to_other_nodes_and_nowhere_else() {
    let (_emitter, content) = Items::<u32>::bounded(1);
    let mut bytes = Vec::new();
    assert!(Postcard::encode(&content, &mut bytes).is_err());
    assert!(<Postcard as Codec<Items<u32>>>::decode(&mut &[1][..]).is_err());
}

// [G-STREAM-3]
#[test]
fn nothing_of_a_stream_is_left_when_it_is_over() {
    once(Loopback::new(), async |_, here: &Place, there: &Place| {
        let (_, far, _gate) = store(here, there).await;
        let feeder = here.system.spawn::<Feeder>(Feeder).await.unwrap();
        let actors = |place: &Place| {
            let counts = place.system.counts();
            counts.started - counts.ended
        };
        // All those between the two have started when they have brought an answer.
        assert_eq!(far.taken().await, Ok((0, None)));
        let before = (actors(here), actors(there));
        for _ in 0..50 {
            let (emitter, content) = Items::bounded(1);
            far.take(content).await.unwrap();
            assert_eq!(feeder.feed(emitter, 1000, 100).await, Ok(1000));
        }
        until(|| (actors(here), actors(there)) == before).await;
    });
}
