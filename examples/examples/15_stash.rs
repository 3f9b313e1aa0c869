//! A box office that puts orders aside until it has tickets.
//!
//! ```text
//! cargo run --example 15_stash
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::{Actor, AskError, Context, DeadLetterReason, System, handlers};

/// Sells what it has. Up to two orders may wait for more.
#[derive(Actor)]
#[actor(stash = 2)]
pub(crate) struct BoxOffice {
    pub(crate) tickets: u32,
}

#[handlers]
impl BoxOffice {
    /// Whoever wants more than there is waits; small orders go on meanwhile.
    #[ask]
    #[stash(while = self.tickets < *wanted)]
    fn buy(&mut self, wanted: u32) -> u32 {
        self.tickets -= wanted;
        println!("sold {wanted}, {} left", self.tickets);
        self.tickets
    }
    /// More tickets: everybody who waits is asked again, in order.
    #[tell]
    fn deliver(&mut self, tickets: u32, cx: &mut Context<Self>) {
        self.tickets += tickets;
        println!("{tickets} delivered, {} orders come back", cx.unstash());
    }
    #[ask]
    fn waiting(&self, cx: &mut Context<Self>) -> usize {
        cx.stashed()
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let mut letters = system.dead_letters();
    let office = system.spawn::<BoxOffice>(BoxOffice { tickets: 2 }).await?;

    let order = |wanted| {
        let office = office.clone();
        tokio::spawn(async move { office.buy(wanted).await })
    };
    let first = order(3);
    while office.waiting().await? < 1 {}
    let second = order(5);
    while office.waiting().await? < 2 {}

    // There is no room for a third order that waits.
    assert_eq!(office.buy(9).await, Err(AskError::Refused));
    let letter = letters.next().await.ok_or("a letter")?;
    assert_eq!(letter.reason, DeadLetterReason::StashFull);
    println!("refused: {}", letter.reason);

    // What can be served is not held up by those who wait.
    assert_eq!(office.buy(1).await, Ok(1));

    office.deliver(2).await?;
    assert_eq!(first.await?, Ok(0));
    office.deliver(6).await?;
    assert_eq!(second.await?, Ok(1));
    Ok(())
}
