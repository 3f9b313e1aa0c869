//! An account that survives the process: its state is the sum of events in a journal.
//!
//! ```text
//! cargo run --example 12_event_sourcing [DIRECTORY]
//! ```
//!
//! With a directory, run it several times: the balance goes on from the last run, also after `kill -9`.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::path::PathBuf;

use greenroom::journal::{
    Embedded, Event, EventSourced, Journal, PersistError, RecoverError, Sourced,
};
use greenroom::{Actor, AskError, Context, System, handlers};
use serde::{Deserialize, Serialize};

/// What can happen to an account. The names are what is stored.
#[derive(Event)]
enum Moved {
    #[event(name = "deposited", version = 2)]
    Deposited { cents: u64, by: String },
    /// Written before anybody asked who. It is still read.
    #[event(name = "deposited", version = 1)]
    DepositedByNobody { cents: u64 },
    #[event(name = "withdrawn")]
    Withdrawn { cents: u64 },
}

/// What has become of it.
#[derive(Default, Serialize, Deserialize)]
struct Balance {
    cents: u64,
    deposits: u32,
}

impl EventSourced for Balance {
    type Event = Moved;

    /// Only adds up: what is decided here would be decided anew at each recovery.
    fn apply(&mut self, event: &Moved) {
        match event {
            Moved::Deposited { cents, .. } | Moved::DepositedByNobody { cents } => {
                self.cents += cents;
                self.deposits += 1;
            }
            Moved::Withdrawn { cents } => self.cents -= cents,
        }
    }
}

#[derive(Debug, PartialEq, thiserror::Error)]
enum Refused {
    #[error("there are only {0} cents")]
    Overdrawn(u64),
    #[error(transparent)]
    NotPersisted(#[from] PersistError),
}

#[derive(Actor)]
struct Account {
    balance: Sourced<Balance>,
}

#[handlers]
impl Account {
    #[start]
    async fn open(
        journal: Journal,
        owner: String,
        cx: &mut Context<Self>,
    ) -> Result<Self, RecoverError> {
        let key = format!("account-{owner}");
        let balance = journal.open::<Balance>(key).snapshot_every(100).recover(cx).await?;
        println!("{owner} has {} cents of {} deposits", balance.cents, balance.deposits);
        Ok(Self { balance })
    }

    #[ask]
    async fn deposit(&mut self, cents: u64, by: String) -> Result<u64, PersistError> {
        self.balance.persist(Moved::Deposited { cents, by }).await?;
        // The event is on disk, and the state has it.
        Ok(self.balance.cents)
    }

    #[ask]
    async fn withdraw(&mut self, cents: u64) -> Result<u64, Refused> {
        // Decide first; what is persisted has happened.
        if cents > self.balance.cents {
            return Err(Refused::Overdrawn(self.balance.cents));
        }
        self.balance.persist(Moved::Withdrawn { cents }).await?;
        Ok(self.balance.cents)
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let asked = std::env::args().nth(1).map(PathBuf::from);
    let own = std::env::temp_dir().join(format!("account-{}", std::process::id()));
    let directory = asked.clone().unwrap_or_else(|| own.clone());
    let journal = Journal::new(Embedded::open(&directory)?)?;
    let args = (journal, "ada".to_owned());

    let account = system.spawn::<Account>(args.clone()).await?;
    let before = account.deposit(40, "Grace".to_owned()).await? - 40;
    assert_eq!(account.withdraw(15).await?, before + 25);
    let refused = account.withdraw(1_000_000).await;
    assert_eq!(refused, Err(AskError::Failed(Refused::Overdrawn(before + 25))));
    account.stop();
    account.ended().await;

    // Another incarnation, as after a restart of the machine: it has what was acknowledged.
    let account = system.spawn::<Account>(args.clone()).await?;
    assert_eq!(account.withdraw(0).await?, before + 25);

    // Whoever opens a key takes it over; the earlier one can write no more, and ends.
    let later = system.spawn::<Account>(args).await?;
    let fenced = account.deposit(1, "nobody".to_owned()).await;
    assert_eq!(fenced, Err(AskError::Failed(PersistError::Fenced)));
    println!("after this run: {} cents", later.withdraw(0).await?);
    if asked.is_none() {
        std::fs::remove_dir_all(own)?;
    }
    Ok(())
}
