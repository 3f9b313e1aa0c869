//! Those who want the actors of names.

use super::{Arc, Holder, LONG, NAMES, Office, System, World};
use greenroom::{Ref, SpawnError};

/// Which name, what with it, and for how long then nothing.
pub(super) struct Deed {
    name: usize,
    what: usize,
    pause: usize,
}

pub(super) fn draw(world: &World) -> Deed {
    Deed { name: world.pick(NAMES.len()), what: world.pick(12), pause: world.pick(4) }
}

pub(super) struct Seeker {
    pub(super) system: System,
    pub(super) office: Arc<Office>,
    /// Nobody ends an actor, and all can start.
    pub(super) is_gentle: bool,
}

impl Seeker {
    pub(super) async fn seek(self, deeds: Vec<Deed>) {
        for Deed { name, what, pause } in deeds {
            match what {
                0..=5 => self.want(name, what > 0).await,
                6 | 7 => self.spawn(name).await,
                _ => {
                    if let Ok(holder) = self.system.find::<Holder>(NAMES[name]) {
                        self.deal_with(name, what, &holder).await;
                    }
                }
            }
            for _ in 0..pause {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Finds the actor, or starts it.
    async fn want(&self, name: usize, is_good: bool) {
        let ticket = self.office.ticket(name, is_good || self.is_gentle);
        let number = ticket.number;
        let found = self.system.find::<Holder>(NAMES[name]).ok();
        self.office.call(found.as_ref());
        let is_ending = found.as_ref().is_some_and(Ref::is_closed);
        let got = self.system.find_or_spawn::<Holder>(NAMES[name], ticket).await;
        let is_right = found.is_none_or(|found| is_ending != (got.as_ref() == Ok(&found)));
        self.office.violations.check(is_right, "who is there is found, and who is ending is not");
        let is_failure = matches!(got, Err(SpawnError::StartFailed(_)));
        let may_fail = got.is_ok() || is_failure && !self.is_gentle;
        self.office.violations.check(may_fail, format_args!("there is one: {got:?}"));
        self.office.called(number, got.as_ref().map(Ref::id).map_err(Clone::clone));
        let Ok(holder) = got else { return };
        let answer = holder.who().within(LONG).await;
        let is_right = match answer {
            Ok(id) => id == holder.id(),
            Err(_) => !self.is_gentle,
        };
        self.office.violations.check(is_right, format_args!("{holder:?} answers {answer:?}"));
    }

    /// Starts an actor with the name, if it is free.
    async fn spawn(&self, name: usize) {
        let ticket = self.office.ticket(name, true);
        let (number, is_free) = (ticket.number, self.system.find::<Holder>(NAMES[name]).is_err());
        let spawned = self.system.spawn::<Holder>(ticket).named(NAMES[name]).start();
        self.office.called(number, spawned.as_ref().map(Ref::id).map_err(Clone::clone));
        let is_taken = spawned == Err(SpawnError::NameTaken(NAMES[name].to_owned()));
        let is_right = if is_free { spawned.is_ok() } else { is_taken };
        self.office.violations.check(is_right, "a name is given once");
    }

    /// Lets it fail or, where that may be, ends it.
    async fn deal_with(&self, name: usize, what: usize, holder: &Ref<Holder>) {
        if what == 8 || self.is_gentle {
            let _ = holder.fall().tell();
            return;
        }
        match what {
            9 => drop(holder.go().tell()),
            10 => drop(holder.stop()),
            _ if holder.id().number().is_multiple_of(2) => drop(holder.drain()),
            _ => drop(holder.kill()),
        }
        if what == 10 {
            holder.ended().await;
            let found = self.system.find::<Holder>(NAMES[name]);
            let is_free = found.as_ref() != Ok(holder);
            self.office.violations.check(is_free, "its name is free when its end is known");
        }
    }
}
