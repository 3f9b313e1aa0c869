//! One actor asks another, one question after the other.

use super::PATIENCE;
use greenroom::{Actor, Ref, System, handlers};
use std::time::{Duration, Instant};

#[derive(Actor)]
pub(super) struct Server;

#[handlers]
impl Server {
    #[start]
    fn start() -> Self {
        Self
    }

    #[ask]
    fn question(&self, value: u64) -> u64 {
        value + 1
    }
}

#[derive(Actor)]
struct Asker {
    server: Ref<Server>,
}

#[handlers]
impl Asker {
    #[start]
    fn start(server: Ref<Server>) -> Self {
        Self { server }
    }

    #[ask]
    async fn run(&mut self, n: u64) -> Duration {
        let clock = Instant::now();
        for value in 0..n {
            let answer = self.server.question(value).await;
            assert_eq!(answer.ok(), Some(value + 1), "the answer to this question");
        }
        clock.elapsed()
    }
}

pub(crate) async fn run(system: System, n: u64) -> Duration {
    let server = system.spawn::<Server>(()).await.expect("the server starts");
    let asker = system.spawn::<Asker>(server).await.expect("the asker starts");
    let clock = Instant::now();
    question(&asker, n).await;
    clock.elapsed()
}

/// Each on a worker of its own, where actors live on one. The asker takes the time: where both workers spin, whoever waits
/// for them gets no core.
pub(crate) async fn apart(system: System, n: u64) -> Duration {
    let server = system.spawn::<Server>(()).on(1).await.expect("the server starts");
    let asker = system.spawn::<Asker>(server).on(0).await.expect("the asker starts");
    question(&asker, n).await
}

async fn question(asker: &Ref<Asker>, n: u64) -> Duration {
    asker.run(n).within(PATIENCE).await.expect("the asker answers")
}
