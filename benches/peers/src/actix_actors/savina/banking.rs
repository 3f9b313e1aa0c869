//! A teller has money sent between accounts; who pays waits until the other side has it.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::banking::{self, ACCOUNTS, Transfer};
use actix::{ActorFutureExt, Addr, AsyncContext, AtomicResponse, Handler, Message, WrapFuture};
use std::time::{Duration, Instant};

struct Account(i64);
struct Pay {
    amount: i64,
    to: Addr<Account>,
    teller: Addr<Teller>,
}
struct Receive(i64);
struct Balance;

struct Teller {
    accounts: Vec<Addr<Account>>,
    unpaid: u64,
    done: Done<()>,
}
struct Begin;
struct Paid;

messages!(Pay, Receive, Begin, Paid);
plain_actors!(Account, Teller);

impl Message for Balance {
    type Result = i64;
}

impl Handler<Pay> for Account {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, Pay { amount, to, teller }: Pay, _cx: &mut Self::Context) -> Self::Result {
        self.0 -= amount;
        let received = to.send(Receive(amount)).into_actor(self);
        AtomicResponse::new(Box::pin(received.map(move |received, _me, _cx| {
            received.expect("the other account answers");
            teller.do_send(Paid);
        })))
    }
}

impl Handler<Receive> for Account {
    type Result = ();

    fn handle(&mut self, Receive(amount): Receive, _cx: &mut Self::Context) {
        self.0 += amount;
    }
}

impl Handler<Balance> for Account {
    type Result = i64;

    fn handle(&mut self, _message: Balance, _cx: &mut Self::Context) -> i64 {
        self.0
    }
}

impl Handler<Begin> for Teller {
    type Result = ();

    fn handle(&mut self, _message: Begin, cx: &mut Self::Context) {
        for Transfer { from, to, amount } in banking::transfers(self.unpaid) {
            let (to, teller) = (self.accounts[to].clone(), cx.address());
            self.accounts[from].do_send(Pay { amount, to, teller });
        }
    }
}

impl Handler<Paid> for Teller {
    type Result = ();

    fn handle(&mut self, _message: Paid, _cx: &mut Self::Context) {
        self.unpaid -= 1;
        if self.unpaid == 0 {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let accounts: Vec<_> = (0..ACCOUNTS).map(|number| start(&stage, number, Account(0))).collect();
    let (done, end) = Done::new();
    let teller = Teller { accounts: accounts.clone(), unpaid: n, done };
    let teller = start(&stage, 0, teller);
    let clock = Instant::now();
    teller.do_send(Begin);
    end.await.expect("every transfer is paid");
    let took = clock.elapsed();
    for (account, balance) in accounts.iter().zip(banking::balances(n)) {
        assert_eq!(account.send(Balance).await, Ok(balance), "every transfer was made once");
    }
    took
}
