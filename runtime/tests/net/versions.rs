//! Nodes of different programs: messages that one of them does not know, or knows otherwise.

use crate::stage::{Place, between};
use crate::support::{soon, until};
use greenroom::net::{Export, Loopback};
use greenroom::{
    Actor, AskError, DeadLetterReason, DeadLetters, Protocol, Ref, Undelivered, handlers,
};

/// The program as it is now.
mod now {
    use super::{Actor, handlers};

    #[derive(Actor)]
    pub(super) struct Till {
        pub(super) cents: u64,
    }

    #[handlers(wire = "test.till/2")]
    impl Till {
        #[tell]
        pub(super) fn pay(&mut self, cents: u64) {
            self.cents += cents;
        }
        #[ask]
        pub(super) fn cents(&self) -> u64 {
            self.cents
        }
        #[ask]
        pub(super) fn above(&self, cents: u64) -> bool {
            self.cents > cents
        }
        #[tell]
        pub(super) fn label(&mut self, text: String) {
            self.cents += text.len() as u64 * 1_000_000;
        }
    }
}

/// As it was.
mod before {
    use super::{Actor, handlers};

    #[derive(Actor)]
    pub(super) struct Till;

    #[handlers(wire = "test.till/1")]
    impl Till {
        /// In whole units.
        #[tell]
        fn pay(&mut self, units: u32) {
            let _ = units;
        }
        /// Called `cents` now.
        #[ask]
        fn total(&self) -> u64 {
            0
        }
        #[ask]
        fn above(&self, units: u32) -> bool {
            units == 0
        }
        #[ask]
        fn cents(&self) -> u64 {
            0
        }
        #[tell]
        fn open(&mut self) {}
        /// The same shape in both.
        #[tell]
        fn label(&mut self, text: String) {
            let _ = text;
        }
    }
}

/// Finds the till of the program as it is now from one that runs the old one.
async fn till(here: &Place, there: &Place, export: Export<now::Till>) -> Ref<before::Till> {
    there.node.export("till", export).unwrap();
    here.reach(there).await.find("till").await.unwrap()
}

async fn spawn(place: &Place) -> Ref<now::Till> {
    place.system.spawn::<now::Till>(now::Till { cents: 0 }).await.unwrap()
}

/// The next dead letter that was for this actor.
async fn letter<P: Protocol>(letters: &mut DeadLetters, actor: &Ref<P>) -> DeadLetterReason {
    let letter = soon(letters.next()).await.unwrap();
    assert_eq!(letter.actor, actor.id());
    letter.reason
}

// [ENV-6] [ENV-7] [ENV-8]
#[test]
fn what_is_not_understood_is_a_dead_letter_at_both_ends() {
    between(Loopback::new, async |_, here, there| {
        let near = spawn(there).await;
        let far = till(here, there, Export::of(&near)).await;
        let (mut sent, mut came) = (here.system.dead_letters(), there.system.dead_letters());
        let undelivered = DeadLetterReason::Undelivered;
        far.open().await.unwrap();
        assert_eq!(letter(&mut came, &near).await, undelivered(Undelivered::UnknownMessage));
        assert_eq!(letter(&mut sent, &far).await, undelivered(Undelivered::UnknownMessage));
        far.pay(5).await.unwrap();
        assert_eq!(letter(&mut came, &near).await, undelivered(Undelivered::OtherSchema));
        assert_eq!(letter(&mut sent, &far).await, undelivered(Undelivered::OtherSchema));

        let unknown = AskError::Undelivered(Undelivered::UnknownMessage);
        assert_eq!(far.total().await, Err(unknown));
        assert_eq!(far.above(1).await, Err(AskError::Undelivered(Undelivered::OtherSchema)));
        assert_eq!(letter(&mut came, &near).await, undelivered(Undelivered::UnknownMessage));
        assert_eq!(letter(&mut came, &near).await, undelivered(Undelivered::OtherSchema));
        assert_eq!(sent.try_next().map(|letter| letter.reason), None, "who asked was told");

        // What both know goes through, whatever the versions, and none of the rest was handled.
        far.label("ab".to_owned()).await.unwrap();
        assert_eq!(far.cents().await, Ok(2_000_000));
        assert_eq!((here.system.counts().undelivered, there.system.counts().undelivered), (2, 4));
    });
}

// [ENV-7]
#[test]
fn an_export_migrates_what_old_nodes_say() {
    between(Loopback::new, async |_, here, there| {
        let near = spawn(there).await;
        let export = Export::of(&near)
            .migrate(1, "pay", |(units,): (u32,)| now::TillMessage::Pay {
                cents: u64::from(units) * 100,
            })
            .migrate_ask(1, "total", |(): (), reply| now::TillMessage::Cents { reply })
            .migrate_ask(1, "above", |(units,): (u32,), reply| now::TillMessage::Above {
                cents: u64::from(units) * 100,
                reply,
            });
        let far = till(here, there, export).await;
        far.pay(7).await.unwrap();
        assert_eq!(far.total().await, Ok(700));
        assert_eq!(far.above(6).await, Ok(true));
        assert_eq!(far.above(7).await, Ok(false));
        assert_eq!(far.cents().await, Ok(700));
        // New nodes are not migrated.
        let new = here.reach(there).await.find::<now::Till>("till").await;
        // The proxy of the connection speaks the old one: both are programs of one name in this test.
        assert!(new.is_err());
        let mut sent = here.system.dead_letters();
        far.open().await.unwrap();
        let reason = letter(&mut sent, &far).await;
        assert_eq!(reason, DeadLetterReason::Undelivered(Undelivered::UnknownMessage));
        until(|| there.system.counts().undelivered == 1).await;
    });
}
