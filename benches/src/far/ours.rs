//! Greenroom's nodes on a long path.

use crate::net::ours::{Echo, FLOW, start};
use crate::net::{LIMIT, PARKED, idle};
use greenroom::{Actor, Ref, handlers};
use greenroom_peers::wire::{ASKERS, Beside, FETCHED, Failure, LARGE, Times, nanos};
use std::time::Instant;
use tokio::task::JoinSet;

/// Asks, each question after the answer to the one before.
#[derive(Actor)]
struct Asker {
    echo: Ref<Echo>,
    bytes: usize,
}

#[handlers]
impl Asker {
    /// The times of so many questions, in nanoseconds.
    #[ask]
    async fn questions(&mut self, count: usize) -> Result<Vec<f64>, String> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            let answer =
                self.echo.echo(vec![7; self.bytes]).await.map_err(|error| error.to_string())?;
            times.push(nanos(start.elapsed()));
            assert_eq!(answer.len(), self.bytes, "the answer is what was sent");
        }
        Ok(times)
    }
}

/// Sends large messages, or fetches them, as fast as they go.
#[derive(Actor)]
struct Flow {
    echo: Ref<Echo>,
}

#[handlers]
impl Flow {
    /// Why it ends.
    #[ask]
    async fn flow(&mut self) -> String {
        loop {
            if let Err(error) = self.echo.take(vec![7; LARGE]).await {
                return error.to_string();
            }
        }
    }

    #[ask]
    async fn fetch(&mut self) -> String {
        loop {
            match self.echo.give(LARGE).within(LIMIT).await {
                Ok(answer) => assert_eq!(answer.len(), LARGE, "the answer is large"),
                Err(error) => return error.to_string(),
            }
        }
    }
}

/// Asks so many questions of so many bytes of each asker, with other work beside them.
///
/// # Errors
/// What the node says.
pub(super) async fn beside(
    at: &str,
    count: usize,
    bytes: usize,
    what: Beside,
) -> Result<Times, Failure> {
    let (system, _udp, node) = start(idle(PARKED), 2, 1)?;
    let peer = node.connect(&at.parse()?).await?;
    let echo: Ref<Echo> = peer.find("echo").await?;
    let other = peer.find::<Echo>(FLOW).await?;
    let flow = async || system.spawn::<Flow>(Flow { echo: other.clone() }).await;
    let mut others = JoinSet::new();
    match what {
        Beside::Nothing => {}
        Beside::Flow => {
            let flow = flow().await?;
            others.spawn(async move { flow.flow().within(LIMIT).await });
        }
        Beside::Fetch => {
            for _ in 0..FETCHED {
                let flow = flow().await?;
                others.spawn(async move { flow.fetch().within(LIMIT).await });
            }
        }
    }
    let mut asking = JoinSet::new();
    for _ in 0..ASKERS {
        let asker = system.spawn::<Asker>(Asker { echo: echo.clone(), bytes }).await?;
        asking.spawn(async move { asker.questions(count).within(LIMIT).await });
    }
    let mut times = Vec::new();
    loop {
        tokio::select! {
            asked = asking.join_next() => match asked {
                Some(asked) => times.extend(asked?.map_err(|error| error.to_string())?),
                None => return Ok(Times(times)),
            },
            Some(ended) = others.join_next() => return Err(ended??.into()),
        }
    }
}
