//! Protocols apart from actors: callers that see a set of calls, or a single message, and not who
//! answers.
//!
//! ```text
//! cargo run --example 06_protocols
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::{Actor, Handle, Message, Recipient, Ref, System, handlers};

/// Keeps a balance.
#[derive(Actor)]
struct Account {
    balance: i64,
    audits: u32,
}

/// What customers can do.
#[handlers(api = Teller)]
impl Account {
    /// Pays in.
    #[tell]
    fn deposit(&mut self, amount: i64) {
        self.balance += amount;
    }

    /// Returns the balance.
    #[ask]
    fn balance(&self) -> i64 {
        self.balance
    }
}

/// A message written by hand, which any actor may choose to handle.
#[derive(Message)]
#[message(reply = String)]
struct Audit {
    by: &'static str,
}

impl Handle<Audit> for Account {
    fn handle(&mut self, audit: Audit, _: &mut greenroom::Context<Self>) -> String {
        self.audits += 1;
        format!("{}: audit {}, balance {}", audit.by, self.audits, self.balance)
    }
}

/// Works for anything with the protocol `Teller`, and knows nothing else of it.
async fn pay_in(account: &Ref<Teller>, amounts: &[i64]) -> Result<i64, Box<dyn std::error::Error>> {
    for amount in amounts {
        account.deposit(*amount).await?;
    }
    Ok(account.balance().await?)
}

/// Works for anything that can be audited.
async fn audit_all(all: &[Recipient<Audit>]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut reports = Vec::new();
    for one in all {
        reports.push(one.ask(Audit { by: "the inspector" }).await?);
    }
    Ok(reports)
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let account = system.spawn::<Account>(Account { balance: 0, audits: 0 }).await?;

    // Narrower and narrower: the actor, one of its protocols, one message.
    let teller: Ref<Teller> = account.api();
    let auditable: Recipient<Audit> = account.recipient();

    let balance = pay_in(&teller, &[10, 20, 12]).await?;
    println!("the balance is {balance}");
    assert_eq!(balance, 42);

    for report in audit_all(&[auditable]).await? {
        println!("{report}");
        assert_eq!(report, "the inspector: audit 1, balance 42");
    }
    Ok(())
}
