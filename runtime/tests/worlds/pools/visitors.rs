//! Those who send to a pool, change its size, and tell all its workers something.

use super::{
    ActorId, Arc, BROADCASTS, CLIENTS, Clerk, ClerkMessage, Group, LETTERS, LONG, Ledger, Office,
    Parcel, Pool, RESIZES, Ref, Resize, SIZE, World, mpsc,
};
use greenroom::AskError;
use std::collections::BTreeSet;

/// What each of them has.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) pool: Ref<Pool<Clerk>>,
    pub(super) group: Group<Clerk>,
    pub(super) office: Arc<Office>,
    pub(super) ledger: Arc<Ledger>,
    /// Workers end only when the size changes.
    pub(super) is_gentle: bool,
    /// Dropped when one is done.
    pub(super) is_there: mpsc::Sender<()>,
}

impl Visit {
    /// Sends them all, each on its own.
    pub(super) fn send_all(&self, world: &mut World, size: usize) {
        for me in 0..CLIENTS {
            let picks = (0..LETTERS).map(|_| world.pick(20)).collect();
            world.spawn(self.clone().write(me, picks));
        }
        let sizes = (0..RESIZES).map(|_| (world.pick(SIZE + 1), world.pick(6))).collect();
        world.spawn(self.clone().resize(size, sizes));
        let pauses = (0..BROADCASTS).map(|_| world.pick(12)).collect();
        world.spawn(self.clone().tell_all(pauses));
    }

    async fn write(self, me: usize, picks: Vec<usize>) {
        for (number, pick) in (0..).zip(picks) {
            let parcel = self.ledger.issue();
            self.office.send(me, number);
            let told = match pick {
                0 => self.pool.crash(me, number, parcel).await,
                1 if !self.is_gentle => self.pool.go_home(me, number, parcel).await,
                2..=9 => self.pool.file_slowly(me, number, parcel).await,
                _ => self.pool.file(me, number, parcel).await,
            };
            if let Err(error) = told {
                let may_end = !self.is_gentle && self.pool.is_closed();
                self.office.violations.check(may_end, "a pool takes letters until it ends");
                returned(error.into_message());
            }
            if pick % 4 == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    fn members(&self) -> BTreeSet<ActorId> {
        self.group.members().iter().map(Ref::id).collect()
    }

    async fn resize(self, mut size: usize, sizes: Vec<(usize, usize)>) {
        for (next, pause) in sizes {
            pause_for(pause).await;
            let (from, before) = (self.office.now(), self.members());
            let changed = self.pool.ask(Resize(next)).within(LONG).await;
            self.office.change(from, before, self.members());
            if !self.is_gentle {
                self.office.note_answer(!matches!(changed, Err(AskError::NoReply)));
                continue;
            }
            let was = changed.unwrap().unwrap();
            let wrong = format_args!("it had {was} workers where {size} was asked for");
            self.office.violations.check(was == size, wrong);
            size = next.max(1);
            let count = self.members().len();
            let wrong = format_args!("it has {count} workers where {size} was asked for");
            self.office.violations.check(count == size, wrong);
        }
    }

    async fn tell_all(self, pauses: Vec<usize>) {
        for (number, pause) in pauses.into_iter().enumerate() {
            pause_for(pause).await;
            let members = self.members();
            let told = self.group.broadcast(|clerk| clerk.hear(number, self.ledger.issue()));
            self.office.notice(number, told.told, told.full);
            let all = told.told + told.full == members.len();
            self.office.violations.check(all, "a broadcast reaches every member, or meets it full");
            if !self.is_gentle {
                continue;
            }
            let first = self.group.first(|clerk| clerk.who().within(LONG)).await;
            let later = self.members();
            let is_member = first.is_ok_and(|id| members.contains(&id) || later.contains(&id));
            self.office.violations.check(is_member, "one of them answers");
        }
    }
}

async fn pause_for(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

/// Its sender has it again.
fn returned(message: ClerkMessage) {
    match message {
        ClerkMessage::File { parcel, .. }
        | ClerkMessage::FileSlowly { parcel, .. }
        | ClerkMessage::Crash { parcel, .. }
        | ClerkMessage::GoHome { parcel, .. }
        | ClerkMessage::Hear { parcel, .. } => Parcel::returned(parcel),
        ClerkMessage::Who { .. } => {}
    }
}
