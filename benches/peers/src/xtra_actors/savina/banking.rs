//! A teller has money sent between accounts; who pays waits until the other side has it.

use super::{me, spawn, tell};
use crate::savina::Done;
use crate::savina::banking::{self, ACCOUNTS, Transfer};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Account(i64);
struct Pay {
    amount: i64,
    to: Address<Account>,
    teller: Address<Teller>,
}
struct Receive(i64);
struct Balance;

struct Teller {
    accounts: Vec<Address<Account>>,
    unpaid: u64,
    done: Done<()>,
}
struct Begin;
struct Paid;

plain_actors!(Account, Teller);

impl Handler<Pay> for Account {
    type Return = ();

    async fn handle(&mut self, Pay { amount, to, teller }: Pay, _cx: &mut Context<Self>) {
        self.0 -= amount;
        to.send(Receive(amount)).await.expect("the other account answers");
        tell(&teller, Paid).await;
    }
}

impl Handler<Receive> for Account {
    type Return = ();

    async fn handle(&mut self, Receive(amount): Receive, _cx: &mut Context<Self>) {
        self.0 += amount;
    }
}

impl Handler<Balance> for Account {
    type Return = i64;

    async fn handle(&mut self, _message: Balance, _cx: &mut Context<Self>) -> i64 {
        self.0
    }
}

impl Handler<Begin> for Teller {
    type Return = ();

    async fn handle(&mut self, _message: Begin, cx: &mut Context<Self>) {
        let me = me(cx);
        for Transfer { from, to, amount } in banking::transfers(self.unpaid) {
            let (to, teller) = (self.accounts[to].clone(), me.clone());
            tell(&self.accounts[from], Pay { amount, to, teller }).await;
        }
    }
}

impl Handler<Paid> for Teller {
    type Return = ();

    async fn handle(&mut self, _message: Paid, _cx: &mut Context<Self>) {
        self.unpaid -= 1;
        if self.unpaid == 0 {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let accounts: Vec<_> = (0..ACCOUNTS).map(|_| spawn(Account(0))).collect();
    let (done, end) = Done::new();
    let teller = Teller { accounts: accounts.clone(), unpaid: n, done };
    let teller = spawn(teller);
    let clock = Instant::now();
    tell(&teller, Begin).await;
    end.await.expect("every transfer is paid");
    let took = clock.elapsed();
    for (account, balance) in accounts.iter().zip(banking::balances(n)) {
        assert_eq!(account.send(Balance).await.ok(), Some(balance), "every transfer was made once");
    }
    took
}
