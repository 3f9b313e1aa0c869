//! Faults that rage among nodes until it is calm.
//!
//! Which faults there are in a run is drawn first, each by itself, and then how strong they are: a mix of
//! everything in every run would hide what only some faults bring about (swarm testing: Groce and others,
//! ISSTA 2012). What lasts, such as loss or a clock that drifts, is there from the start; the rest strikes
//! now and then, and most of it passes.

use super::check::Failure;
use super::choice::Label;
use super::fabric::{Fabric, Way};
use super::fault::Fault;
use super::link::Link;
use super::node::Node;
use super::plight::{Blow, Plight, StormId};
use super::stage::{Order, Stage};
use super::strait::Strait;
use super::world::World;
use crate::sync::Arc;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

const EXISTS: Label = Label::new("fault exists");
const STRENGTH: Label = Label::new("fault strength");
const WHICH: Label = Label::new("fault");
const WHO: Label = Label::new("fault at");
const HOW: Label = Label::new("fault how");
const WHEN: Label = Label::new("fault when");

const MS: u64 = 1_000_000;
/// Between two strikes it is so long at most.
const INTERVAL_NANOS: u64 = 200 * MS;
/// How strong a fault can be: each degree lasts ten times as long as the one before.
const DEGREES: u64 = 3;
/// By so many millionths a clock can be fast or slow: by up to a tenth, or not at all.
const DRIFTS: u64 = 200_001;
/// The shortest packets that a narrow link takes.
const NARROW_BYTES: u64 = 576;

/// The faults that a world has drawn for some nodes; see [`World::storm`].
#[derive(Clone, Debug)]
pub struct Storm {
    faults: Vec<(Fault, u64)>,
    is_over: Rc<Cell<bool>>,
}

impl Storm {
    /// The faults that there are in this run.
    pub fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        self.faults.iter().map(|&(fault, _)| fault)
    }

    /// Whether there is such a fault in this run.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults().any(|drawn| drawn == fault)
    }

    pub(super) fn end(&self) {
        self.is_over.set(true);
    }
}

impl World {
    /// Draws which of the faults in `among` there are in this run, and how strong, and lets them rage at
    /// `nodes` and the links between them (of a single node there are none) until [`World::calm`] or [`World::heal`].
    ///
    /// What it ends meanwhile is what it has begun itself: a node that the test has killed, stopped, paused or slowed stays
    /// so until the test says otherwise, as do a clock and a link that it has made bad. What the test says meanwhile, or after
    /// [`World::calm`], ends what storms have done before: [`Node::resume`] a pause, [`Node::slow_down`] a slowness,
    /// [`Node::drift_clock`] a drift and a freeze, [`Node::restart`] all of these, and [`World::mend`] what has cut a link.
    ///
    /// # Panics
    /// Under [`Explore::every_choice`](super::Explore::every_choice): a storm is drawn, and cannot be tried wholly.
    ///
    /// ```
    /// use greenroom::sim::{Explore, Fault};
    /// use std::time::Duration;
    ///
    /// Explore::new().seeds(10).run(|world| {
    ///     let nodes = ["one", "two", "three"].map(|name| world.node(name).start());
    ///     let storm = world.storm(&nodes, &Fault::ALL);
    ///     world.run_for(Duration::from_secs(10)); // what must always hold is checked meanwhile
    ///     world.calm(&nodes[..2]); // what must come to pass can, with these
    ///     world.sometimes("a node is killed", storm.has(Fault::Kill));
    /// });
    /// ```
    pub fn storm(&mut self, nodes: &[Node], among: &[Fault]) -> Storm {
        if self.options.tries_all {
            self.fail(Failure::new("a storm where every choice is tried", "it needs seeds"));
        }
        let draw = |label, count| self.stage.choose(|choices| choices.noise(label, count));
        let mut faults = Vec::new();
        // Among no nodes nothing can go wrong, and with one alone nothing of links between them.
        let nodes_min = |fault: Fault| if fault.is_of_links() { 2 } else { 1 };
        for &fault in among.iter().filter(|fault| nodes.len() >= nodes_min(**fault)) {
            if draw(EXISTS, 2) == 1 {
                faults.push((fault, 1 + draw(STRENGTH, DEGREES)));
            }
        }
        let storm = Storm { faults, is_over: Rc::new(Cell::new(false)) };
        self.stage.log(|| format!("a storm of {:?}", storm.faults));
        self.storms.push(storm.clone());
        let mut raging = Raging {
            stage: self.stage.clone(),
            nodes: nodes.to_vec(),
            // Its task's, which no other storm has.
            id: StormId(self.roster.next_number()),
            storm: storm.clone(),
            agenda: BTreeMap::new(),
            noted: 0,
        };
        raging.begin();
        self.spawn(raging.rage());
        storm
    }

    /// Ends the storms, and the faults of the nodes in `core` and of the links between them: those that are
    /// down start again, those that are paused go on, clocks go right. All else stays as it is, for good:
    /// who is in the core must get on without the others.
    pub fn calm(&mut self, core: &[Node]) {
        self.obey();
        self.storms.drain(..).for_each(|storm| storm.end());
        for from in core {
            self.heal_node(from.index);
            for to in core {
                let rules = self.stage.fabric.lock().heal_link(from.host(), to.host());
                drop(rules);
            }
        }
    }
}

/// Something that the storm has yet to do.
#[derive(Clone, Copy, Debug)]
enum Act {
    Strike,
    /// Starts a node again whose life is still this one, ended or about to.
    Restart(usize, u64),
    /// Ends what it does to a node.
    End(usize, Plight),
    CutOff(usize),
    Rejoin(usize),
    /// Ends what it does to a link.
    Mend(Way, Strait),
}

/// See the [module](self).
struct Raging {
    stage: Arc<Stage>,
    nodes: Vec<Node>,
    id: StormId,
    storm: Storm,
    agenda: BTreeMap<(u64, u64), Act>,
    noted: u64,
}

impl Raging {
    fn draw(&self, label: Label, count: u64) -> u64 {
        self.stage.choose(|choices| choices.noise(label, count))
    }

    fn node(&self) -> usize {
        usize::try_from(self.draw(WHO, self.nodes.len() as u64)).unwrap_or(0)
    }

    /// Another one than that, where there is one.
    fn other(&self, node: usize) -> usize {
        let ahead = 1 + self.draw(WHO, self.nodes.len() as u64 - 1);
        (node + usize::try_from(ahead).unwrap_or(1)) % self.nodes.len()
    }

    /// A time that lasts longer where the fault is stronger: up to a second, ten or a hundred.
    fn span(&self, degree: u64) -> u64 {
        let degree = u32::try_from(degree).unwrap_or(1);
        self.draw(HOW, 100 * MS * 10_u64.saturating_pow(degree))
    }

    fn tell(&self, node: usize, blow: Blow) {
        self.stage.order(self.nodes[node].index, Order::Storm(blow));
    }

    /// Does something to a node until a time.
    fn begin_until(&mut self, until: u64, node: usize, plight: Plight) {
        self.tell(node, Blow::Begin(self.id, plight));
        self.note(until, Act::End(node, plight));
    }

    /// Does something to a link until a time.
    fn close_until(&mut self, until: u64, way: Way, strait: Strait) {
        self.stage.fabric.lock().begin(way, strait);
        self.note(until, Act::Mend(way, strait));
    }

    fn note(&mut self, at: u64, act: Act) {
        self.noted += 1;
        self.agenda.insert((at, self.noted), act);
    }

    fn links(&self, mut change: impl FnMut(&Self, Link) -> Link) {
        for from in &self.nodes {
            for to in self.nodes.iter().filter(|to| to.index != from.index) {
                let (from, to) = (from.host(), to.host());
                let link = *self.stage.fabric.lock().link(from, to);
                *self.stage.fabric.lock().link(from, to) = change(self, link);
            }
        }
    }

    /// Lets that be which is there from the start. A link that is worse by itself stays so.
    fn begin(&mut self) {
        for (fault, degree) in self.storm.faults.clone() {
            let rate = |some: &Self| u16::try_from(some.draw(HOW, 100 * degree)).unwrap_or(0);
            match fault {
                Fault::Loss => self.links(|some, link| link.loss(link.loss.max(rate(some)))),
                Fault::Bursts => self.links(|some, link| {
                    let begins = link.burst_begins.max(1 + rate(some) / 10);
                    link.bursts(begins, link.burst_ends.min(100))
                }),
                Fault::Duplication => {
                    self.links(|some, link| link.duplication(link.duplication.max(rate(some))));
                }
                Fault::Corruption => {
                    self.links(|some, link| link.corruption(link.corruption.max(rate(some))));
                }
                Fault::FullBuffer => self.links(|some, link| link.full(link.full.max(rate(some)))),
                Fault::Jitter => self.links(|some, link| {
                    let jitter = Duration::from_nanos(some.draw(HOW, 20 * MS * degree));
                    link.jitter(link.jitter.max(jitter))
                }),
                Fault::Offset => {
                    let ahead = Duration::from_nanos(self.span(degree));
                    self.nodes[self.node()].jump_clock(ahead);
                }
                Fault::Drift => {
                    let node = self.node();
                    let drawn = i32::try_from(self.draw(HOW, DRIFTS)).unwrap_or(0);
                    // Fast and slow by turns, and from none to much: the dullest is none.
                    let millionths = if drawn % 2 == 0 { drawn / 2 } else { -(drawn / 2 + 1) };
                    self.tell(node, Blow::Begin(self.id, Plight::Drift(millionths)));
                }
                _ => {}
            }
        }
        self.note(self.stage.now(), Act::Strike);
    }

    async fn rage(mut self) {
        let clock = super::WorldClock::new(self.stage.clone());
        while let Some((&key, &act)) = self.agenda.first_key_value() {
            let now = self.stage.now();
            if key.0 > now {
                clock.sleep(Duration::from_nanos(key.0 - now)).await;
            }
            if self.storm.is_over.get() {
                return;
            }
            self.agenda.remove(&key);
            self.act(act);
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Strike => {
                // The dullest is the longest: a failure that is made small must not have more strikes.
                let next = self.stage.now() + INTERVAL_NANOS - self.draw(WHEN, INTERVAL_NANOS);
                self.note(next, Act::Strike);
                let count = self.storm.faults.len() as u64;
                let which = usize::try_from(self.draw(WHICH, count)).unwrap_or(0);
                if let Some(&(fault, degree)) = self.storm.faults.get(which) {
                    self.strike(fault, degree);
                }
            }
            // A stop that hangs is over then, too.
            Act::Restart(node, life) => self.tell(node, Blow::Revive(life)),
            Act::End(node, plight) => self.tell(node, Blow::End(self.id, plight)),
            Act::CutOff(node) => self.part(node, Fabric::begin),
            Act::Rejoin(node) => self.part(node, Fabric::end),
            Act::Mend(way, strait) => self.stage.fabric.lock().end(way, strait),
        }
    }

    fn way(&self, from: usize, to: usize) -> Way {
        (self.nodes[from].host(), self.nodes[to].host())
    }

    /// Cuts the links between a node and the others, or ends that.
    fn part(&self, node: usize, change: impl Fn(&mut Fabric, Way, Strait)) {
        let mut fabric = self.stage.fabric.lock();
        for other in (0..self.nodes.len()).filter(|&other| other != node) {
            change(&mut fabric, self.way(node, other), Strait::Cut);
            change(&mut fabric, self.way(other, node), Strait::Cut);
        }
    }

    fn strike(&mut self, fault: Fault, degree: u64) {
        let (node, now) = (self.node(), self.stage.now());
        let until = now + 1 + self.span(degree);
        let chosen = self.nodes[node].clone();
        match fault {
            Fault::Kill => {
                self.tell(node, Blow::Kill);
                self.note(until, Act::Restart(node, chosen.incarnation()));
            }
            Fault::Stop => {
                self.tell(node, Blow::Stop(Duration::from_nanos(self.span(1))));
                self.note(until, Act::Restart(node, chosen.incarnation()));
            }
            Fault::Pause => self.begin_until(until, node, Plight::Pause),
            Fault::Jump => chosen.jump_clock(Duration::from_nanos(until - now)),
            Fault::Freeze => self.begin_until(until, node, Plight::Freeze),
            Fault::Slow => {
                let times = u32::try_from(1 + self.draw(HOW, 1000)).unwrap_or(1);
                self.begin_until(until, node, Plight::Slow(times));
            }
            Fault::OneWay => {
                let to = self.other(node);
                self.close_until(until, self.way(node, to), Strait::Cut);
            }
            Fault::Narrow => {
                let (to, bytes) = (self.other(node), NARROW_BYTES + self.draw(HOW, 1000));
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                let strait = Strait::Narrow(self.id, bytes);
                self.close_until(until, self.way(node, to), strait);
            }
            Fault::BlackHole => {
                self.act(Act::CutOff(node));
                self.note(until, Act::Rejoin(node));
            }
            Fault::Swizzle => self.swizzle(degree),
            Fault::Rebind => self.rebind(&chosen),
            Fault::Offset
            | Fault::Drift
            | Fault::Loss
            | Fault::Bursts
            | Fault::Jitter
            | Fault::Duplication
            | Fault::Corruption
            | Fault::FullBuffer => {}
        }
    }

    /// Cuts some nodes off one after the other, and joins them in another order.
    fn swizzle(&mut self, degree: u64) {
        let mut some: Vec<usize> =
            (0..self.nodes.len()).filter(|_| self.draw(WHO, 2) == 1).collect();
        let mut at = self.stage.now();
        for &node in &some {
            at += 1 + self.span(degree) / 10;
            self.note(at, Act::CutOff(node));
        }
        while !some.is_empty() {
            at += 1 + self.span(degree) / 10;
            let place = usize::try_from(self.draw(WHO, some.len() as u64)).unwrap_or(0);
            let node = some.swap_remove(place);
            self.note(at, Act::Rejoin(node));
        }
    }

    /// Lets one of the node's ports be seen elsewhere.
    fn rebind(&self, node: &Node) {
        let ports = self.stage.fabric.lock().ports_of(node.host());
        let count = ports.len() as u64;
        let which = usize::try_from(self.draw(WHO, count)).unwrap_or(0);
        let Some(&port) = ports.get(which) else { return };
        let seen = u16::try_from(1024 + self.draw(HOW, 60_000)).unwrap_or(1024);
        let outside = SocketAddr::new(IpAddr::from([203, 0, 113, 1]), seen);
        if self.stage.fabric.lock().is_free(outside) {
            node.rebind(port, outside);
        }
    }
}
