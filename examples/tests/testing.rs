//! How an application tests its actors: a till that asks a price list and reports each sale.
//!
//! The book's page on testing explains the kit: `book/src/testing.md`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use greenroom::testkit::{self, Probe};
use greenroom::{
    Actor, AskError, Context, Event, ExitReason, Message, Recipient, Ref, System, handlers,
};

#[derive(Debug, PartialEq, Message)]
struct Sold {
    item: String,
    cents: u64,
}

#[derive(Debug, PartialEq)]
struct NoSuchItem;

/// Knows what things cost.
#[derive(Actor)]
struct Prices;

#[handlers(api = PricesApi)]
impl Prices {
    #[ask]
    fn price(&self, item: String) -> Result<u64, NoSuchItem> {
        if item == "tea" { Ok(250) } else { Err(NoSuchItem) }
    }
}

/// Sells things, and tells whoever keeps the books.
#[derive(Actor)]
struct Till {
    prices: Ref<PricesApi>,
    books: Recipient<Sold>,
    takings: u64,
}

#[handlers]
impl Till {
    #[start]
    fn start(prices: Ref<PricesApi>, books: Recipient<Sold>) -> Self {
        Self { prices, books, takings: 0 }
    }

    #[ask]
    async fn sell(&mut self, item: String) -> Result<u64, AskError<NoSuchItem>> {
        let cents = self.prices.price(item.clone()).await?;
        self.takings += cents;
        // Books that are closed do not keep the till from selling.
        let _ = self.books.tell(Sold { item, cents }).await;
        Ok(cents)
    }

    #[tell]
    fn close(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

#[greenroom::test]
async fn a_sale_is_reported_once(system: System) {
    let mut books = Probe::spawn(&system).await.unwrap();
    let prices = system.spawn::<Prices>(Prices).await.unwrap();
    let till = system.spawn::<Till>((prices.api(), books.recipient())).await.unwrap();

    assert_eq!(till.sell("tea".to_owned()).await, Ok(250));
    books.expect(&Sold { item: "tea".to_owned(), cents: 250 }).await;

    let unknown = till.sell("snow".to_owned()).await;
    assert_eq!(unknown, Err(AskError::Failed(AskError::Failed(NoSuchItem))));
    books.expect_none().await;
}

#[greenroom::test]
async fn a_price_list_that_is_gone_is_the_buyers_error(system: System) {
    let books = Probe::spawn(&system).await.unwrap();
    let mut prices = Probe::<PricesApiMessage>::spawn(&system).await.unwrap();
    let args = (prices.reference::<PricesApi>(), books.recipient());
    let till = system.spawn::<Till>(args).await.unwrap();

    let buyer = till.clone();
    let sale = tokio::spawn(async move { buyer.sell("tea".to_owned()).await });
    // The stand-in drops the question unanswered.
    drop(prices.expect_next().await);
    assert_eq!(sale.await.unwrap(), Err(AskError::Failed(AskError::NoReply)));
}

#[greenroom::test]
async fn what_is_left_when_the_till_closes_is_a_dead_letter(system: System) {
    let mut letters = testkit::dead_letters(&system);
    let mut events = testkit::events(&system);
    let books = Probe::spawn(&system).await.unwrap();
    let mut prices = Probe::<PricesApiMessage>::spawn(&system).await.unwrap();
    let args = (prices.reference::<PricesApi>(), books.recipient());
    let till = system.spawn::<Till>(args).await.unwrap();

    let buyer = till.clone();
    let sale = tokio::spawn(async move { buyer.sell("tea".to_owned()).await });
    let PricesApiMessage::Price { reply, .. } = prices.expect_next().await;
    // While the till waits for the price it is told to close, twice.
    till.close().await.unwrap();
    till.close().await.unwrap();
    reply.send(Ok(250));

    assert_eq!(sale.await.unwrap(), Ok(250));
    events
        .find("the till's end", |event| {
            matches!(event, Event::Ended { actor, reason: ExitReason::Stopped } if *actor == till.id())
        })
        .await;
    assert_eq!(letters.expect_next().await.actor, till.id());
    letters.expect_none().await;
}
