//! How a world is told what must hold.

use super::check::Failure;
use super::choice::Label;
use super::world::World;
use std::time::Duration;

/// What happened, beside the choices.
const MARK: Label = Label::new("mark");
const PASSED: Label = Label::new("passed");

impl World {
    /// Checks after every step that `look` finds nothing wrong. The closure sees what the test shares with
    /// its actors; counts and events come from their systems.
    ///
    /// ```
    /// use greenroom::sim::World;
    ///
    /// let mut world = World::new(7);
    /// let node = world.node("one").start();
    /// let system = node.system();
    /// world.always("nobody dies", move || match system.counts().ended {
    ///     0 => Ok(()),
    ///     dead => Err(format!("{dead} actors ended")),
    /// });
    /// world.settle();
    /// ```
    pub fn always(
        &mut self,
        name: impl Into<String>,
        look: impl FnMut() -> Result<(), String> + 'static,
    ) {
        self.checks.add_always(name.into(), Box::new(look));
    }

    /// Checks once, in [`World::finish`] or when the world is dropped without, that `look` finds nothing wrong.
    pub fn at_end(
        &mut self,
        name: impl Into<String>,
        look: impl FnMut() -> Result<(), String> + 'static,
    ) {
        self.checks.add_at_end(name.into(), Box::new(look));
    }

    /// Checks that `look` says yes at least once, after some step within the next `within`, when the world begins to run
    /// again, or when that time is over. What comes later is too late.
    pub fn eventually(
        &mut self,
        name: impl Into<String>,
        within: Duration,
        look: impl FnMut() -> bool + 'static,
    ) {
        let due = crate::time::Time(self.stage.now()).after(within).0;
        self.checks.add_due(name.into(), due, Box::new(look));
    }

    /// Notes that the run came by here, if `passed`: a test of many worlds fails if no world ever did
    /// ([`Explore`](super::Explore)), because then it does not test what it seems to.
    pub fn sometimes(&mut self, mark: impl Into<String>, passed: bool) {
        let mark = mark.into();
        self.stage.choose(|choices| {
            choices.fold_bytes(MARK, mark.as_bytes());
            choices.fold(PASSED, passed.into());
        });
        *self.checks.marks.entry(mark).or_default() += u64::from(passed);
    }

    /// Ends all faults, for what is to become well by itself afterwards: storms are over, links are mended
    /// and lose nothing, paused nodes go on, nodes that are down start again, and clocks go right.
    pub fn heal(&mut self) {
        self.obey();
        self.storms.drain(..).for_each(|storm| storm.end());
        let rules = self.stage.fabric.lock().heal();
        drop(rules);
        for node in 0..self.nodes.len() {
            self.heal_node(node);
        }
    }

    /// Ends a run: what was to come must have come, what was to hold at the end must hold, no other thread may have taken
    /// part, and no actor may have panicked. [`Explore`](super::Explore) does so itself. A world that is dropped without
    /// having failed looks at [`World::eventually`] and [`World::at_end`] alone, and at what outlives it.
    ///
    /// # Panics
    /// If it does not.
    pub fn finish(&mut self) {
        self.refuse_outsiders();
        self.settle_panics();
        self.checks.over = true;
        if let Err(failure) = self.checks.look_at_end(self.stage.now()) {
            self.fail(self.explained(failure));
        }
    }

    /// A check's failure, and who waits if it has nothing to say: something has not come to pass.
    pub(super) fn explained(&self, failure: Failure) -> Failure {
        if failure.text.is_empty() { failure.explained(&self.describe()) } else { failure }
    }

    /// Fails the run, as a check does.
    ///
    /// # Panics
    /// Always.
    pub fn fail_with(&mut self, what: impl Into<String>, text: impl Into<String>) -> ! {
        self.fail(Failure::new(what, text))
    }
}
