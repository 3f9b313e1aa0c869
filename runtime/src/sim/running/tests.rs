//! What a world says that is run by itself.

use crate::sim::World;
use crate::sim::choice::Source;
use crate::sim::options::Options;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_world_by_itself_that_goes_on_in_vain_names_no_setting() {
    let options = Options { steps_max: 100, ..Options::default() };
    let mut world = World::with(Source::Seed(1), options);
    world.spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    });
    let outcome = catch_unwind(AssertUnwindSafe(|| world.settle()));
    let text = outcome.expect_err("it has no end").downcast::<String>().expect("a text");
    assert!(text.contains("too many steps") && text.contains("more than 100\n"), "{text}");
    assert!(!text.contains("Explore"), "{text}");
}
