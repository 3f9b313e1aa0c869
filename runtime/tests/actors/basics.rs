//! The first things that anyone tries.

use greenroom::{Actor, Context, System, handlers};
use std::time::Duration;

#[derive(Actor)]
struct Counter {
    total: u64,
}

#[handlers]
impl Counter {
    #[start]
    fn start(from: u64) -> Self {
        Self { total: from }
    }
    #[tell]
    fn add(&mut self, amount: u64) {
        self.total += amount;
    }
    #[ask]
    fn total(&self) -> u64 {
        self.total
    }
    #[ask]
    async fn later(&mut self, amount: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.total += amount;
        self.total
    }
    #[ask]
    fn boom(&mut self) -> u64 {
        panic!("as asked")
    }
    #[tell]
    fn end(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

#[greenroom::test]
async fn tells_arrive_in_order_before_the_ask(system: System) {
    let counter = system.spawn::<Counter>(1).await.unwrap();
    for _ in 0..1000 {
        counter.add(1).await.unwrap();
    }
    assert_eq!(counter.total().await.unwrap(), 1001);
    assert_eq!(counter.later(9).await.unwrap(), 1010);
    counter.add(5).try_send().unwrap();
    assert_eq!(counter.total().await.unwrap(), 1015);
    assert!(counter.boom().await.is_err());
    counter.ended().await;
    assert!(counter.add(1).await.is_err());
}

#[greenroom::test]
async fn it_stops(system: System) {
    let counter = system.spawn::<Counter>(1).await.unwrap();
    counter.end().await.unwrap();
    counter.ended().await;
    assert_eq!(system.counts().ended, 1);
}
