//! Those who send to virtual actors.

use super::account::{Account, AccountMessage, Store};
use super::{CLIENTS, KEYS, LONG, MS};
use crate::support::{Ledger, Parcel};
use greenroom::sim::{World, WorldClock};
use greenroom::{Keyed, Ref, TellError};
use std::sync::Arc;

/// Letters of each client at most.
pub(super) const LETTERS: usize = 30;

/// What a client does next.
struct Act {
    key: usize,
    deed: usize,
    pause: usize,
    /// Whether it keeps the reference for the next time.
    keeps: bool,
}

pub(super) struct Client {
    me: usize,
    acts: Vec<Act>,
    /// It lets nobody crash, and ends actors in no other way.
    only_drains: bool,
    accounts: Keyed<usize, Account>,
    kept: [Option<Ref<Account>>; KEYS],
    /// The next number for each key.
    next: [u64; KEYS],
    store: Arc<Store>,
    ledger: Arc<Ledger>,
    clock: WorldClock,
}

impl Client {
    pub(super) fn new(
        world: &World,
        me: usize,
        only_drains: bool,
        accounts: &Keyed<usize, Account>,
        store: &Arc<Store>,
        ledger: &Arc<Ledger>,
    ) -> Self {
        assert!(me < CLIENTS);
        let draw = |_| Act {
            key: world.pick(KEYS),
            deed: world.pick(10),
            pause: world.pick(8),
            keeps: world.pick(2) == 0,
        };
        Self {
            me,
            acts: (0..LETTERS).map(draw).collect(),
            only_drains,
            accounts: accounts.clone(),
            kept: [const { None }; KEYS],
            next: [0; KEYS],
            store: Arc::clone(store),
            ledger: Arc::clone(ledger),
            clock: world.clock(),
        }
    }

    pub(super) async fn run(mut self) {
        for act in std::mem::take(&mut self.acts) {
            let account = self.kept[act.key].take();
            let account = account.unwrap_or_else(|| self.accounts.get(act.key).unwrap());
            match act.deed {
                0 if self.store.is_gentle => self.ask(act.key, &account).await,
                0 => self.end(act.key, &account).await,
                deed => self.send(act.key, deed, &account).await,
            }
            if act.keeps && !account.is_closed() {
                self.kept[act.key] = Some(account);
            }
            match act.pause {
                0..=3 => {}
                4 => tokio::task::yield_now().await,
                long => self.clock.sleep(MS * u32::try_from(long - 4).unwrap()).await,
            }
        }
    }

    async fn send(&mut self, key: usize, deed: usize, account: &Ref<Account>) {
        let (me, number, parcel) = (self.me, self.next[key], self.ledger.issue());
        self.next[key] += 1;
        let told = match deed {
            1 => account.rest(me, number, parcel).await,
            2 if !self.only_drains => account.crash(me, number, parcel).await,
            3..=5 => account.put_slowly(me, number, parcel).await,
            _ => account.put(me, number, parcel).await,
        };
        let Err(error) = told else { return };
        let is_closed = matches!(error, TellError::Closed(_));
        let may_close = is_closed && account.is_closed() && !self.store.is_gentle;
        self.store.violations.check(may_close, "it takes letters until it has ended for good");
        if let Some(parcel) = parcel_of(error.into_message()) {
            parcel.returned();
        }
    }

    /// Asks how many letters it has had of this client, which are all that were accepted.
    async fn ask(&mut self, key: usize, account: &Ref<Account>) {
        let had = account.had(self.me).within(LONG).await;
        let wrong = format_args!("{had:?} letters where {} were sent", self.next[key]);
        self.store.violations.check(had == Ok(self.next[key]), wrong);
    }

    /// Ends the actor for good: whoever asks for the key then gets another.
    async fn end(&mut self, key: usize, account: &Ref<Account>) {
        match self.next[key] % 3 {
            _ if self.only_drains => drop(account.drain()),
            0 => drop(account.stop()),
            1 => drop(account.drain()),
            _ => {
                self.store.kill(account.id());
                account.kill();
            }
        }
        if self.next[key].is_multiple_of(2) {
            account.ended().await;
            let other = self.accounts.get(key).unwrap();
            let is_new = other != *account && account.is_closed();
            self.store.violations.check(is_new, "its key leads to a new one");
        }
    }
}

fn parcel_of(message: AccountMessage) -> Option<Parcel> {
    match message {
        AccountMessage::Put { parcel, .. }
        | AccountMessage::PutSlowly { parcel, .. }
        | AccountMessage::Rest { parcel, .. }
        | AccountMessage::Crash { parcel, .. } => Some(parcel),
        AccountMessage::Had { .. } => None,
    }
}
