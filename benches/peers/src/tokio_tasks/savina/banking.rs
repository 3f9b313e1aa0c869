//! A teller has money sent between accounts; who pays waits until the other side has it.

use crate::savina::banking::{self, ACCOUNTS, Transfer};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

enum ToAccount {
    Pay { amount: i64, to: UnboundedSender<Self>, teller: UnboundedSender<()> },
    Receive { amount: i64, reply: oneshot::Sender<()> },
    Balance(oneshot::Sender<i64>),
}

async fn account(mut mailbox: UnboundedReceiver<ToAccount>) {
    let mut balance = 0;
    while let Some(message) = mailbox.recv().await {
        match message {
            ToAccount::Pay { amount, to, teller } => {
                balance -= amount;
                let (reply, received) = oneshot::channel();
                to.send(ToAccount::Receive { amount, reply }).expect("the other account lives");
                received.await.expect("the other account answers");
                teller.send(()).expect("the teller lives");
            }
            ToAccount::Receive { amount, reply } => {
                balance += amount;
                // The other account waits for it.
                let _ = reply.send(());
            }
            ToAccount::Balance(reply) => drop(reply.send(balance)),
        }
    }
}

async fn teller(accounts: Vec<UnboundedSender<ToAccount>>, n: u64) {
    let (me, mut mailbox) = mpsc::unbounded_channel();
    for Transfer { from, to, amount } in banking::transfers(n) {
        let (to, teller) = (accounts[to].clone(), me.clone());
        accounts[from].send(ToAccount::Pay { amount, to, teller }).expect("the account lives");
    }
    for _ in 0..n {
        mailbox.recv().await.expect("every transfer is paid");
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let open = |_| {
        let (sender, mailbox) = mpsc::unbounded_channel();
        tokio::spawn(account(mailbox));
        sender
    };
    let accounts: Vec<_> = (0..ACCOUNTS).map(open).collect();
    let clock = Instant::now();
    tokio::spawn(teller(accounts.clone(), n)).await.expect("the teller does not panic");
    let took = clock.elapsed();
    for (account, right) in accounts.iter().zip(banking::balances(n)) {
        let (reply, balance) = oneshot::channel();
        account.send(ToAccount::Balance(reply)).expect("the account lives");
        assert_eq!(balance.await, Ok(right), "every transfer was made once");
    }
    took
}
