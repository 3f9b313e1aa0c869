//! A hundred actors in a ring pass a token on.

use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::sizes::RING;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[derive(Actor)]
struct Link {
    next: Option<Ref<Self>>,
    done: Option<oneshot::Sender<()>>,
}

#[handlers]
impl Link {
    #[start]
    fn start(next: Option<Ref<Self>>, done: Option<oneshot::Sender<()>>) -> Self {
        Self { next, done }
    }

    #[ask]
    fn close(&mut self, first: Ref<Self>) {
        self.next = Some(first);
    }

    #[tell]
    fn token(&mut self, hops: u64) {
        match (hops, &self.next) {
            (0, _) => drop(self.done.take().map(|done| done.send(()))),
            (hops, Some(next)) => next.token(hops - 1).tell().expect("the next one lives"),
            (_, None) => {}
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let mut tell = Some(tell);
    // Where the token stops is known, and a token that stops elsewhere ends nothing.
    let mut start = |next, index| {
        let done = if index == n % RING { tell.take() } else { None };
        system.spawn::<Link>((next, done)).start().expect("a link starts")
    };
    let last = start(None, RING - 1);
    let first = (0..RING - 1).rev().fold(last.clone(), |next, index| start(Some(next), index));
    last.close(first.clone()).await.expect("the last link lives");
    let clock = Instant::now();
    first.token(n).tell().expect("the first link lives");
    done.await.expect("the token stops where it has to");
    clock.elapsed()
}
