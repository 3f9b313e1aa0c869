//! A teller has money sent between accounts; who pays waits until the other side has it.

use super::{Handled, State, start};
use crate::savina::Done;
use crate::savina::banking::{self, ACCOUNTS, Transfer};
use ractor::{ActorRef, RpcReplyPort, call};
use std::time::{Duration, Instant};

enum ToAccount {
    Pay { amount: i64, to: ActorRef<Self>, teller: ActorRef<ToTeller> },
    Receive(i64, RpcReplyPort<()>),
    Balance(RpcReplyPort<i64>),
}

struct Account(i64);

impl State for Account {
    type Msg = ToAccount;

    async fn handle(&mut self, _me: ActorRef<ToAccount>, message: ToAccount) -> Handled {
        match message {
            ToAccount::Pay { amount, to, teller } => {
                self.0 -= amount;
                call!(to, |reply| ToAccount::Receive(amount, reply))?;
                teller.cast(ToTeller::Paid)?;
            }
            ToAccount::Receive(amount, reply) => {
                self.0 += amount;
                reply.send(())?;
            }
            ToAccount::Balance(reply) => reply.send(self.0)?,
        }
        Ok(())
    }
}

enum ToTeller {
    Begin,
    Paid,
}

struct Teller {
    accounts: Vec<ActorRef<ToAccount>>,
    unpaid: u64,
    done: Done<()>,
}

impl State for Teller {
    type Msg = ToTeller;

    async fn handle(&mut self, me: ActorRef<ToTeller>, message: ToTeller) -> Handled {
        match message {
            ToTeller::Begin => {
                for Transfer { from, to, amount } in banking::transfers(self.unpaid) {
                    let (to, teller) = (self.accounts[to].clone(), me.clone());
                    self.accounts[from].cast(ToAccount::Pay { amount, to, teller })?;
                }
            }
            ToTeller::Paid => {
                self.unpaid -= 1;
                if self.unpaid == 0 {
                    self.done.tell(());
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let mut accounts = Vec::new();
    for _ in 0..ACCOUNTS {
        accounts.push(start(Account(0)).await);
    }
    let (done, end) = Done::new();
    let teller = start(Teller { accounts: accounts.clone(), unpaid: n, done }).await;
    let clock = Instant::now();
    teller.cast(ToTeller::Begin).expect("the teller lives");
    end.await.expect("every transfer is paid");
    let took = clock.elapsed();
    for (account, right) in accounts.iter().zip(banking::balances(n)) {
        let balance = call!(account, ToAccount::Balance).expect("the account answers");
        assert_eq!(balance, right, "every transfer was made once");
    }
    took
}
