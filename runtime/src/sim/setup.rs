//! How a node is made, the first time and each time it starts again.

use super::choice::Label;
use super::incarnation::Incarnation;
use super::node::Node;
use super::plight::{Condition, Plights, Told};
use super::queue::SimulatedQueue;
use super::skew::Skew;
use super::stage::{Face, Stage};
use super::world::{Task, World};
use crate::sync::Arc;
use crate::system::{Builder, Scheduler};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;

const BATCH: Label = Label::new("batch");
const SEED: Label = Label::new("seed");

/// Workers of a node, unless its settings say otherwise.
const WORKERS: usize = 2;

/// A node as its world keeps it.
pub(super) struct NodeState {
    pub(super) name: String,
    settings: Box<dyn Fn(Builder) -> Builder>,
    pub(super) boot: Option<Box<dyn Fn(Node) -> Task>>,
    pub(super) life: Option<Incarnation>,
    pub(super) lives: u64,
    pub(super) skew: Skew,
    pub(super) told: Told,
    pub(super) plights: Plights,
    /// What the two come to.
    pub(super) condition: Condition,
    /// Whether it is shutting down.
    pub(super) stopping: bool,
    /// Who of it does what takes its time, on a slow node, until it has run.
    pub(super) busy_with: Option<usize>,
    /// Until when that takes; zero when it is over.
    pub(super) busy_until: u64,
    /// Who could run when the node was paused or became busy, or was woken since.
    pub(super) held: Vec<usize>,
}

impl NodeState {
    /// The settings of the node's next life.
    pub(super) fn builder(&self, stage: &Arc<Stage>) -> Builder {
        let drawn = stage.choose(|choices| choices.noise(BATCH, 3));
        let batch = match drawn {
            0 => 1,
            1 => 3,
            _ => 64,
        };
        let seed = stage.choose(|choices| choices.noise(SEED, u64::MAX));
        let queue = stage.clone();
        let scheduler = Scheduler::trusted(move || SimulatedQueue::new(queue));
        let builder = Builder::of(WORKERS).batch(batch).seed(seed).scheduler(scheduler);
        (self.settings)(builder)
    }

    /// When the node's next timer goes off, in the world's time.
    pub(super) fn next_alarm(&self, now: u64) -> Option<u64> {
        let life = self.life.as_ref().filter(|_| !self.condition.paused)?;
        Some(self.skew.world_at(life.next_alarm()?)?.max(now))
    }

    /// Whether nobody of it may run.
    pub(super) fn holds_all(&self) -> bool {
        self.condition.paused || self.busy_until > 0
    }

    /// Whether this one of it may not run.
    pub(super) fn holds(&self, number: usize) -> bool {
        self.holds_all() || self.busy_with.is_some_and(|other| other != number)
    }

    pub(super) fn set_clock(&self, now: u64) {
        if let Some(life) = &self.life {
            life.set_clock(self.skew.at(now));
        }
    }

    /// What its actors wait for.
    pub(super) fn describe(&self) -> String {
        let Some(life) = &self.life else { return format!("node {:?} is down\n", self.name) };
        let Condition { paused, slowness, drift } = self.condition;
        let plights = [
            (paused, ", paused"),
            (slowness > 1, ", slow"),
            (drift.is_none(), ", whose clock stands still"),
        ];
        let plights = plights.into_iter().filter(|(is_there, _)| *is_there).map(|(_, text)| text);
        let actors = life.actors().into_iter().map(|actor| format!("  {actor}\n"));
        let (plights, actors) = (plights.collect::<String>(), actors.collect::<String>());
        format!("node {:?}{plights}:\n{actors}", self.name)
    }
}

/// A node about to be started; see [`World::node`].
#[must_use = "nothing starts before `start`"]
pub struct Setup<'a> {
    world: &'a mut World,
    node: NodeState,
}

impl<'a> Setup<'a> {
    pub(super) fn new(world: &'a mut World, name: String) -> Self {
        let node = NodeState {
            name,
            settings: Box::new(|builder| builder),
            boot: None,
            life: None,
            lives: 0,
            skew: Skew::none(),
            told: Told::default(),
            plights: Plights::default(),
            condition: Told::default().with(&Plights::default()),
            stopping: false,
            busy_with: None,
            busy_until: 0,
            held: Vec::new(),
        };
        Self { world, node }
    }

    /// Changes the settings of the node's system, each time it is started. Unless told otherwise it has
    /// two workers, a batch that the world chooses, and a ready queue of which any actor may be next.
    /// Every [`Scheduler`] runs in a world; what concerns threads has no meaning there.
    pub fn settings(mut self, settings: impl Fn(Builder) -> Builder + 'static) -> Self {
        self.node.settings = Box::new(settings);
        self
    }

    /// Runs `boot` as a task of the node, each time it is started: it spawns the actors.
    pub fn boot<F: Future<Output = ()> + 'static>(
        mut self,
        boot: impl Fn(Node) -> F + 'static,
    ) -> Self {
        self.node.boot = Some(Box::new(move |node| Box::pin(boot(node))));
        self
    }

    /// Starts the node.
    ///
    /// # Panics
    /// If its settings are out of range.
    #[expect(clippy::must_use_candidate, reason = "a node may do all it does by itself")]
    pub fn start(self) -> Node {
        let Self { world, node } = self;
        let index = world.nodes.len();
        let name = node.name.clone();
        let face = Face { name, system: None, incarnation: 0, store: BTreeMap::new() };
        world.stage.faces.lock().push(face);
        world.nodes.push(node);
        world.begin_life(index);
        Node { stage: world.stage.clone(), index }
    }
}

impl fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Setup({})", self.node.name)
    }
}
