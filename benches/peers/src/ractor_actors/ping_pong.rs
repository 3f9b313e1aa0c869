//! Two actors bounce a ball.

use super::Done;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::time::{Duration, Instant};

struct Player;

enum Play {
    Against(ActorRef<Self>),
    Ball(u64),
}

impl Actor for Player {
    type Msg = Play;
    type State = Option<ActorRef<Play>>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _me: ActorRef<Play>,
        _args: (),
    ) -> Result<Option<ActorRef<Play>>, ActorProcessingErr> {
        Ok(None)
    }

    async fn handle(
        &self,
        me: ActorRef<Play>,
        message: Play,
        other: &mut Option<ActorRef<Play>>,
    ) -> Done {
        match (message, &other) {
            (Play::Against(opponent), _) => *other = Some(opponent),
            (Play::Ball(0), _) => me.stop(None),
            (Play::Ball(hops), Some(other)) => other.cast(Play::Ball(hops - 1))?,
            (Play::Ball(_), None) => {}
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (left, game) = Actor::spawn(None, Player, ()).await.expect("a player starts");
    let (right, _) = Actor::spawn(None, Player, ()).await.expect("a player starts");
    left.cast(Play::Against(right.clone())).expect("the player lives");
    right.cast(Play::Against(left.clone())).expect("the player lives");
    let clock = Instant::now();
    left.cast(Play::Ball(2 * n)).expect("the player lives");
    game.await.expect("the players do not panic");
    clock.elapsed()
}
