//! What a step of a simulated world costs: nearly always one message. Here because the tests of this package have the
//! simulator.
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example steps
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/steps 20000
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/steps 60000
//! ```
//!
//! The difference of the two counts of instructions, over 40,000, is what one step costs.

use greenroom::sim::World;
use greenroom::{Actor, Ref, handlers};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Actors that pass tokens round, and the tokens.
const ACTORS: usize = 50;
const TOKENS: usize = 20;
/// By the world's time, between two looks at the number of steps.
const SPAN: Duration = Duration::from_micros(10);

#[derive(Actor)]
struct Passer {
    me: usize,
}

#[handlers]
impl Passer {
    #[tell]
    fn pass(&mut self, ring: Arc<[Ref<Self>]>) {
        let next = ring[(self.me + 1) % ring.len()].clone();
        next.pass(ring).tell().expect("it lives");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let steps: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |steps| steps.parse())?;
    let mut world = World::new(1);
    let system = world.node("one").start().system();
    world.run(async {
        let mut ring = Vec::new();
        for me in 0..ACTORS {
            ring.push(system.spawn::<Passer>(Passer { me }).await.expect("it starts"));
        }
        let ring: Arc<[Ref<Passer>]> = ring.into();
        for actor in &ring[..TOKENS] {
            actor.pass(Arc::clone(&ring)).tell().expect("it lives");
        }
    });
    let first = world.steps();
    while world.steps() < first + steps {
        world.run_for(SPAN);
    }
    eprintln!("{} steps", world.steps() - first);
    Ok(())
}
