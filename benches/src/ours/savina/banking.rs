//! A teller has money sent between accounts; who pays waits until the other side has it.

use super::super::PATIENCE;
use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::banking::{self, ACCOUNTS, Transfer};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Account {
    balance: i64,
}

#[handlers]
impl Account {
    #[start]
    fn start() -> Self {
        Self { balance: 0 }
    }

    #[tell]
    async fn pay(&mut self, amount: i64, to: Ref<Self>, teller: Ref<Teller>) {
        self.balance -= amount;
        to.receive(amount).within(PATIENCE).await.expect("the other account answers");
        teller.paid().tell().expect("the teller lives");
    }

    #[ask]
    fn receive(&mut self, amount: i64) {
        self.balance += amount;
    }

    #[ask]
    fn balance(&self) -> i64 {
        self.balance
    }
}

#[derive(Actor)]
struct Teller {
    accounts: Vec<Ref<Account>>,
    unpaid: u64,
    done: Done<()>,
}

#[handlers]
impl Teller {
    #[start]
    fn start(accounts: Vec<Ref<Account>>, n: u64, done: Done<()>) -> Self {
        Self { accounts, unpaid: n, done }
    }

    #[tell]
    fn begin(&mut self, cx: &mut Context<Self>) {
        for Transfer { from, to, amount } in banking::transfers(self.unpaid) {
            let to = self.accounts[to].clone();
            self.accounts[from].pay(amount, to, cx.me()).tell().expect("the account lives");
        }
    }

    #[tell]
    fn paid(&mut self) {
        self.unpaid -= 1;
        if self.unpaid == 0 {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let mut accounts = Vec::new();
    for _ in 0..ACCOUNTS {
        accounts.push(system.spawn::<Account>(()).await.expect("an account opens"));
    }
    let (done, end) = Done::new();
    let teller = system.spawn::<Teller>((accounts.clone(), n, done)).await;
    let teller = teller.expect("the teller starts");
    let clock = Instant::now();
    teller.begin().tell().expect("the teller lives");
    end.await.expect("every transfer is paid");
    let took = clock.elapsed();
    for (account, balance) in accounts.iter().zip(banking::balances(n)) {
        assert_eq!(account.balance().await.ok(), Some(balance), "every transfer was made once");
    }
    took
}
