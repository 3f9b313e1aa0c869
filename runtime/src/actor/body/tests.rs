//! The price of an idle actor.

use super::overhead;
use crate::{Actor, handlers};

#[derive(Actor)]
struct Idle;

#[handlers]
impl Idle {
    #[start]
    fn start() -> Self {
        Self
    }
}

#[test]
fn an_idle_actor_costs_at_most_256_bytes_beside_its_state() {
    // Cells come in blocks of 32 bytes more each, so up to 31 may be lost to rounding. It is less, so that a state of
    // three words makes a cell of seven lines of them.
    assert!(overhead::<Idle>() <= 208, "{} bytes", overhead::<Idle>());
}
