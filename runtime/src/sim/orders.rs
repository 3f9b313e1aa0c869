//! What nodes are told to do: to start, to crash, to stop, to pause, and to show a wrong time.

use super::choice::Label;
use super::incarnation::Incarnation;
use super::node::{Node, host};
use super::plight::{Blow, Plight, Told};
use super::roster::Work;
use super::setup::NodeState;
use super::stage::{Given, Order};
use super::world::World;
use crate::sync::planted;
use crate::time::Passing;
use std::task::Waker;
use std::time::Duration;

/// What happened, beside the choices.
const TOLD: Label = Label::new("node was told");

/// How long those may take that are killed because their node stops.
const GRACE: Duration = Duration::from_secs(1);

impl World {
    /// Does what nodes were told to do.
    pub(super) fn obey(&mut self) {
        self.take_given();
        if self.stage.orders.lock().is_empty() {
            return;
        }
        let orders = std::mem::take(&mut *self.stage.orders.lock());
        for (node, order) in orders {
            let name = &self.nodes[node].name;
            self.stage.log(|| format!("{name}: {order:?}"));
            let text = format!("{node} {order:?}");
            self.stage.choose(|choices| choices.fold_bytes(TOLD, text.as_bytes()));
            self.carry_out(node, order);
        }
    }

    /// Takes up the tasks that nodes were given; those of a life that is over are dropped.
    fn take_given(&mut self) {
        let given = std::mem::take(&mut *self.stage.given.lock());
        for Given { node, incarnation, task } in given {
            let is_up = self.nodes[node].life.is_some();
            if is_up && self.stage.faces.lock()[node].incarnation == incarnation {
                let owner = planted!("sim-dead-task": Some(node) => None);
                let number = self.roster.add(Work::Task(Some(task), owner));
                self.stage.woken.add(number);
            }
        }
    }

    fn carry_out(&mut self, node: usize, order: Order) {
        let now = self.stage.now();
        let NodeState { told, plights, .. } = &mut self.nodes[node];
        match order {
            Order::Kill => {
                (told.down, told.paused) = (true, false);
                self.crash(node);
            }
            Order::Stop(deadline) => {
                told.down = true;
                self.stop(node, deadline);
            }
            Order::Restart => {
                (told.down, told.paused) = (false, false);
                self.crash(node);
                self.begin_life(node);
                self.nodes[node].plights.heal();
            }
            Order::Pause => told.paused = true,
            Order::Resume => {
                told.paused = false;
                plights.end_all(|plight| plight == Plight::Pause);
            }
            Order::Drift(millionths) => {
                told.drift = Some(millionths);
                plights.end_all(|plight| matches!(plight, Plight::Freeze | Plight::Drift(_)));
            }
            Order::Jump(ahead) => {
                self.nodes[node].skew.jump(now, ahead);
                self.move_to(now);
                self.look_at_timers();
            }
            Order::Freeze => told.drift = None,
            Order::Slow(times) => {
                told.slowness = times.max(1);
                plights.end_all(|plight| matches!(plight, Plight::Slow(_)));
            }
            Order::Storm(blow) => self.strike(node, blow),
            Order::Stopped(incarnation) => {
                if self.stage.faces.lock()[node].incarnation == incarnation {
                    self.crash(node);
                }
            }
        }
        self.adapt(node);
    }

    /// Does what a storm does with a node.
    fn strike(&mut self, node: usize, blow: Blow) {
        let state = &mut self.nodes[node];
        match blow {
            Blow::Kill => self.crash(node),
            Blow::Stop(deadline) => self.stop(node, deadline),
            Blow::Revive(life) => {
                let is_down = state.told.down;
                if !is_down && self.stage.faces.lock()[node].incarnation == life {
                    self.crash(node);
                    self.begin_life(node);
                }
            }
            Blow::Begin(by, plight) => state.plights.begin(by, plight),
            Blow::End(by, plight) => {
                planted!("sim-storm-ends-all": () => state.told = Told::default());
                state.plights.end(by, plight);
            }
        }
    }

    /// Lets a node be as it was told, and as storms have made it.
    fn adapt(&mut self, node: usize) {
        let now = self.stage.now();
        let state = &mut self.nodes[node];
        let condition = state.told.with(&state.plights);
        let before = std::mem::replace(&mut state.condition, condition);
        if condition.drift != before.drift {
            match condition.drift {
                Some(millionths) => state.skew.drift(now, millionths),
                None => state.skew.freeze(now),
            }
        }
        state.life.iter().for_each(|life| life.let_pass(condition.passing()));
        if condition.paused && !before.paused {
            state.held.extend(self.roster.take_all_of(node));
        }
        if condition.slowness <= 1 && before.slowness > 1 {
            self.end_slowness(node);
        }
        if before.paused && !condition.paused {
            self.let_go(node);
            self.look_at_timers();
        }
    }

    /// Ends the faults of a node.
    pub(super) fn heal_node(&mut self, node: usize) {
        if self.nodes[node].life.is_none() || self.nodes[node].stopping {
            self.carry_out(node, Order::Restart);
        }
        let state = &mut self.nodes[node];
        state.told = Told::default();
        state.plights.heal();
        self.adapt(node);
    }

    /// Lets nothing of the node run any more.
    fn crash(&mut self, node: usize) {
        self.stage.faces.lock()[node].system = None;
        let readers = self.stage.fabric.lock().unplug(host(node));
        let state = &mut self.nodes[node];
        state.held.clear();
        state.plights.crash();
        state.condition = state.told.with(&state.plights);
        state.stopping = false;
        (state.busy_with, state.busy_until) = (None, 0);
        if let Some(life) = state.life.take() {
            life.let_pass(Passing::Nobody);
            self.graves.push((node, life));
        }
        self.roster.end_all_of(node, &mut self.remains);
        // Those of the node itself are gone.
        readers.into_iter().for_each(Waker::wake);
    }

    fn stop(&mut self, node: usize, deadline: Duration) {
        let face = &self.stage.faces.lock()[node];
        let (Some(system), incarnation) = (face.system.clone(), face.incarnation) else { return };
        self.nodes[node].stopping = true;
        let stage = self.stage.clone();
        let number = self.roster.add(Work::Task(
            Some(Box::pin(async move {
                if system.shutdown(deadline).await.is_err() {
                    // Who did not end in time has been killed, which takes a moment.
                    let _ = system.shutdown(GRACE).await;
                }
                stage.order(node, Order::Stopped(incarnation));
            })),
            None,
        ));
        self.roster.make_ready(number);
    }

    /// Starts a node that is down.
    pub(super) fn begin_life(&mut self, node: usize) {
        let builder = self.nodes[node].builder(&self.stage);
        let first = self.roster.next_number();
        let life = Incarnation::new(builder, &self.stage, first);
        let life = life.unwrap_or_else(|error| panic!("node {:?}: {error}", self.nodes[node].name));
        for index in 0..life.workers() {
            let number = self.roster.add(Work::Worker { node, index });
            self.roster.make_ready(number);
        }
        let beside = self.roster.add(Work::Beside(node));
        life.set_porter(self.stage.woken.waker(beside));
        life.let_pass(self.nodes[node].condition.passing());
        let now = self.stage.now();
        life.set_clock(self.nodes[node].skew.at(now));
        let system = life.system().clone();
        let is_first = self.nodes[node].lives == 0;
        self.stage.begin_life(node, system, is_first);
        let state = &mut self.nodes[node];
        state.lives += 1;
        state.life = Some(life);
        if let Some(boot) = &state.boot {
            let task = boot(Node { stage: self.stage.clone(), index: node });
            let number = self.roster.add(Work::Task(Some(task), Some(node)));
            self.roster.make_ready(number);
        }
        let state = &mut self.nodes[node];
        if state.condition.paused {
            state.held.extend(self.roster.take_all_of(node));
        }
    }
}
