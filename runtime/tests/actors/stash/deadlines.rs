//! What waits no longer than it may, though it was put aside.

use super::{Order, Parcel, read, shop};
use crate::support::{LONG, everywhere, soon};
use greenroom::AskError;
use greenroom::sim::Explore;
use std::time::Duration;

#[test]
fn a_stashed_question_expires_like_any_other() {
    everywhere(async |system| {
        let (shop, served) = shop(system).await;
        // Until one is stashed before it expires.
        let (mut timeout, mut asked) = (Duration::from_millis(20), 0);
        while shop.stashed().await == Ok(0) {
            assert_eq!(shop.buy(1).within(timeout).await, Err(AskError::Expired));
            (timeout, asked) = (timeout * 2, asked + 1);
        }
        assert_eq!(shop.open().await, Ok(1));
        assert_eq!(shop.buy(2).await, Ok(20));
        assert_eq!(read(&served), [2], "nothing is handled for nobody");
        let counts = system.counts();
        assert_eq!((counts.dead_expired, counts.late_replies), (asked, 0));
    });
}

#[test]
fn a_stashed_message_keeps_its_deadline() {
    const SECOND: Duration = Duration::from_secs(1);
    Explore::new().seeds(50).run(|world| {
        let system = world.node("one").start().system();
        // Put aside once or twice, all expire that have a deadline, or none.
        let (rounds, is_late) = (1 + world.pick(2), world.pick(2) == 1);
        let clock = world.clock();
        world.run(async {
            let (shop, served) = shop(&system).await;
            shop.serve(1).await.unwrap();
            shop.serve(2).within(3 * SECOND).await.unwrap();
            shop.tell(Order(3)).within(3 * SECOND).await.unwrap();
            shop.tell(Parcel(4)).within(3 * SECOND).await.unwrap();
            for _ in 0..rounds {
                assert_eq!(shop.stashed().await, Ok(4));
                assert_eq!(shop.unstash().await, Ok(4));
            }
            assert_eq!(shop.stashed().await, Ok(4));
            clock.sleep(if is_late { 4 * SECOND } else { SECOND }).await;
            assert_eq!(shop.open().await, Ok(4));
            assert_eq!(shop.buy(5).await, Ok(50));
            let (handled, expired) =
                if is_late { (vec![1, 5], 3) } else { (vec![1, 2, 3, 4, 5], 0) };
            assert_eq!(read(&served), handled);
            assert_eq!(system.counts().dead_expired, expired);
        });
    });
}

#[test]
fn stashed_messages_with_a_deadline_end_with_their_actor() {
    everywhere(async |system| {
        let (shop, _) = shop(system).await;
        shop.serve(1).within(LONG).await.unwrap();
        shop.tell(Order(2)).within(LONG).await.unwrap();
        assert_eq!(shop.stashed().await, Ok(2));
        shop.stop();
        soon(shop.ended()).await;
        assert_eq!(system.counts().dead_stopped, 2);
    });
}
