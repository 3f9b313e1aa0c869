//! A bug found by seed: two cashiers, one account, and a race in what they say to each other.
//!
//! ```text
//! cargo run --example 14_simulation
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::time::Duration;

use greenroom::sim::{Explore, World};
use greenroom::{Actor, Ref, handlers};

/// Worlds to look into.
const SEEDS: u64 = 200;

#[derive(Actor)]
struct Account {
    balance: i64,
}

#[handlers]
impl Account {
    #[ask]
    fn balance(&self) -> i64 {
        self.balance
    }

    #[tell]
    fn withdraw(&mut self, amount: i64) {
        self.balance -= amount;
    }

    /// Looks and takes in one message: nobody can come in between.
    #[ask]
    fn try_withdraw(&mut self, amount: i64) -> bool {
        let enough = self.balance >= amount;
        if enough {
            self.balance -= amount;
        }
        enough
    }
}

#[derive(Actor)]
struct Cashier {
    account: Ref<Account>,
}

#[handlers]
impl Cashier {
    /// Looks first, and takes later. Right if there is only one cashier.
    #[tell]
    async fn pay_hastily(&mut self, amount: i64) {
        if self.account.balance().await.is_ok_and(|balance| balance >= amount) {
            let _gone = self.account.withdraw(amount).await;
        }
    }

    #[tell]
    async fn pay(&mut self, amount: i64) {
        let _paid = self.account.try_withdraw(amount).await;
    }
}

/// Two customers want 80 each of the 100 that are there, each from a cashier of their own.
fn bank(world: &mut World, hastily: bool) {
    let system = world.node("bank").start().system();
    let account = world.run(async {
        let account = system.spawn::<Account>(Account { balance: 100 }).await.expect("it starts");
        for _ in 0..2 {
            let cashier = Cashier { account: account.clone() };
            let cashier = system.spawn::<Cashier>(cashier).await.expect("it starts");
            let asked = if hastily { cashier.pay_hastily(80) } else { cashier.pay(80) };
            asked.await.expect("it lives");
        }
        account
    });
    // A second passes at once: it takes no longer than what happens in it.
    world.run_for(Duration::from_secs(1));
    let balance = world.run(async { account.balance().await.expect("it answers") });
    assert!(balance >= 0, "the bank owes {}", -balance);
}

fn main() {
    // Each try to make a failure smaller panics as well, which nobody wants to read.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let hasty = AssertUnwindSafe(|| Explore::new().seeds(SEEDS).run(|world| bank(world, true)));
    let report = catch_unwind(hasty).expect_err("some seed shows the race");
    set_hook(hook);
    println!("{}", report.downcast_ref::<String>().expect("the report is a text"));

    let explored = Explore::new().seeds(SEEDS).run(|world| bank(world, false));
    println!("mended: {} worlds, {} steps, and nobody owes", explored.worlds, explored.steps);
}
