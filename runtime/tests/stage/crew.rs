//! A supervisor and those it restarts together, who check each other's order.

use super::{Account, Scene};
use greenroom::{Actor, Context, Ref, StartError, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the crew shares.
#[derive(Clone)]
pub(crate) struct Deck {
    account: Arc<Account>,
    /// One bit for each mate that is there.
    there: Arc<AtomicUsize>,
}

/// Restarts all mates when one falls.
#[derive(Actor)]
#[actor(supervise = one_for_all(9 in "1h"))]
pub(crate) struct Captain {
    mates: Vec<Ref<Mate>>,
}

#[handlers]
impl Captain {
    #[start]
    async fn start(deck: Deck, count: usize, cx: &mut Context<Self>) -> Result<Self, StartError> {
        let mut mates = Vec::new();
        for number in 0..count {
            mates.push(cx.supervise::<Mate>((deck.clone(), number)).await?);
        }
        Ok(Self { mates })
    }

    #[ask]
    fn mates(&self) -> Vec<Ref<Mate>> {
        self.mates.clone()
    }
}

/// One of the crew: it comes after those with lower numbers, and leaves before them.
#[derive(Actor)]
pub(crate) struct Mate {
    deck: Deck,
    number: usize,
}

#[handlers]
impl Mate {
    #[start]
    fn start(deck: Deck, number: usize) -> Self {
        let before = deck.there.fetch_or(1 << number, Ordering::SeqCst);
        // Earlier ones may have fallen again already.
        let is_last = before >> number == 0;
        deck.account.check(is_last, || format!("{number} starts beside {before:b}"));
        shuttle::thread::yield_now();
        Self { deck, number }
    }

    #[tell]
    fn work(&mut self) {
        self.deck.account.handled.fetch_add(1, Ordering::SeqCst);
        self.deck.account.done();
    }

    #[tell]
    fn fall(&mut self) {
        self.work();
        std::panic::panic_any("as it was told");
    }
}

impl Drop for Mate {
    fn drop(&mut self) {
        shuttle::thread::yield_now();
        self.deck.there.fetch_and(!(1 << self.number), Ordering::SeqCst);
    }
}

impl Scene {
    /// A supervisor's mates.
    pub(crate) async fn crew(&self, count: usize) -> Vec<Ref<Mate>> {
        let deck = Deck { account: Arc::clone(&self.account), there: Arc::default() };
        let captain = self.system.spawn::<Captain>((deck, count)).await.expect("it starts");
        captain.mates().await.expect("it lives")
    }
}
