//! Greenroom's nodes on a long path.

use crate::net::ours::{Echo, FLOW, start};
use crate::net::{LIMIT, PARKED, idle};
use greenroom::{Actor, Ref, handlers};
use greenroom_peers::wire::{ASKERS, Failure, LARGE, Times, nanos};
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

/// Sends large messages as fast as they go.
#[derive(Actor)]
struct Flow {
    echo: Ref<Echo>,
}

#[handlers]
impl Flow {
    #[tell]
    async fn flow(&mut self) {
        while self.echo.take(vec![7; LARGE]).await.is_ok() {}
    }
}

/// Asks so many questions of so many bytes of each asker, with a flow of large messages beside them or without.
///
/// # Errors
/// What the node says.
pub(super) async fn beside(
    at: &str,
    count: usize,
    bytes: usize,
    with_flow: bool,
) -> Result<Times, Failure> {
    let (system, _udp, node) = start(idle(PARKED), 2, 1)?;
    let peer = node.connect(&at.parse()?).await?;
    let echo: Ref<Echo> = peer.find("echo").await?;
    let flow = system.spawn::<Flow>(Flow { echo: peer.find(FLOW).await? }).await?;
    if with_flow {
        flow.flow().await?;
    }
    let mut asking = JoinSet::new();
    for _ in 0..ASKERS {
        let asker = system.spawn::<Asker>(Asker { echo: echo.clone(), bytes }).await?;
        asking.spawn(async move { asker.questions(count).within(LIMIT).await });
    }
    let mut times = Vec::new();
    while let Some(asked) = asking.join_next().await {
        times.extend(asked?.map_err(|error| error.to_string())?);
    }
    Ok(Times(times))
}
