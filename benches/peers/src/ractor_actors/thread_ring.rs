//! Actors in a ring pass a token on.

use super::Done;
use crate::sizes::RING;
use crate::{Countdown, Ticket};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::time::{Duration, Instant};

struct Link;

enum Pass {
    Next(ActorRef<Self>),
    Token(u64),
}

struct Place {
    next: Option<ActorRef<Pass>>,
    /// Has it the actor with whom the token ends.
    done: Option<Ticket>,
}

impl Actor for Link {
    type Msg = Pass;
    type State = Place;
    type Arguments = Place;

    async fn pre_start(
        &self,
        _me: ActorRef<Pass>,
        place: Place,
    ) -> Result<Place, ActorProcessingErr> {
        Ok(place)
    }

    async fn handle(&self, _me: ActorRef<Pass>, message: Pass, place: &mut Place) -> Done {
        match (message, &place.next) {
            (Pass::Next(next), _) => place.next = Some(next),
            (Pass::Token(0), _) => place.done = None,
            (Pass::Token(hops), Some(next)) => next.cast(Pass::Token(hops - 1))?,
            (Pass::Token(_), None) => {}
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let countdown = Countdown::new(1);
    let mut links: Vec<ActorRef<Pass>> = Vec::new();
    for index in 0..RING {
        let done = (index == n % RING).then(|| countdown.ticket());
        let place = Place { next: None, done };
        let (link, _) = Actor::spawn(None, Link, place).await.expect("a link starts");
        links.push(link);
    }
    for (link, next) in links.iter().zip(links.iter().cycle().skip(1)) {
        link.cast(Pass::Next(next.clone())).expect("the link lives");
    }
    let clock = Instant::now();
    links[0].cast(Pass::Token(n)).expect("the link lives");
    countdown.done.await.expect("the token is passed on");
    clock.elapsed()
}
