//! A teller has money sent between accounts; who pays waits until the other side has it.

use super::spawn;
use crate::savina::Done;
use crate::savina::banking::{self, ACCOUNTS, Transfer};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Account(i64);
struct Pay {
    amount: i64,
    to: ActorRef<Account>,
    teller: ActorRef<Teller>,
}
struct Receive(i64);
struct Balance;

struct Teller {
    accounts: Vec<ActorRef<Account>>,
    unpaid: u64,
    done: Done<()>,
}
struct Begin;
struct Paid;

plain_actor!(Account);
plain_actor!(Teller);

impl Message<Pay> for Account {
    type Reply = ();

    async fn handle(&mut self, Pay { amount, to, teller }: Pay, _cx: &mut Context<Self, ()>) {
        self.0 -= amount;
        to.ask(Receive(amount)).send().await.expect("the other account answers");
        teller.tell(Paid).try_send().expect("the receiver lives");
    }
}

impl Message<Receive> for Account {
    type Reply = ();

    async fn handle(&mut self, Receive(amount): Receive, _cx: &mut Context<Self, ()>) {
        self.0 += amount;
    }
}

impl Message<Balance> for Account {
    type Reply = i64;

    async fn handle(&mut self, _message: Balance, _cx: &mut Context<Self, i64>) -> i64 {
        self.0
    }
}

impl Message<Begin> for Teller {
    type Reply = ();

    async fn handle(&mut self, _message: Begin, cx: &mut Context<Self, ()>) {
        for Transfer { from, to, amount } in banking::transfers(self.unpaid) {
            let (to, teller) = (self.accounts[to].clone(), cx.actor_ref().clone());
            self.accounts[from]
                .tell(Pay { amount, to, teller })
                .try_send()
                .expect("the receiver lives");
        }
    }
}

impl Message<Paid> for Teller {
    type Reply = ();

    async fn handle(&mut self, _message: Paid, _cx: &mut Context<Self, ()>) {
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
    teller.wait_for_startup().await;
    let clock = Instant::now();
    teller.tell(Begin).try_send().expect("the receiver lives");
    end.await.expect("every transfer is paid");
    let took = clock.elapsed();
    for (account, balance) in accounts.iter().zip(banking::balances(n)) {
        assert_eq!(
            account.ask(Balance).send().await.ok(),
            Some(balance),
            "every transfer was made once"
        );
    }
    took
}
