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
    // two words makes a cell of six such pieces. Under Miri a context has bytes.
    let most = if cfg!(miri) { 192 } else { 176 };
    assert!(overhead::<Idle>() <= most, "{} bytes", overhead::<Idle>());
}
