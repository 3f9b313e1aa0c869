//! What nodes are told to do: to start, to crash, to stop, to pause, and to show a wrong time.

use super::incarnation::Incarnation;
use super::node::{Node, host};
use super::roster::Work;
use super::stage::{Given, Order};
use super::world::World;
use crate::sync::planted;
use std::task::Waker;
use std::time::Duration;

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
        match order {
            Order::Kill => self.crash(node),
            Order::Stop(deadline) => self.stop(node, deadline),
            Order::Restart => {
                self.crash(node);
                self.begin_life(node);
            }
            Order::Pause => {
                let state = &mut self.nodes[node];
                state.paused = true;
                state.life.iter().for_each(Incarnation::hold);
                state.held.extend(self.roster.take_all_of(node));
            }
            Order::Resume => {
                self.nodes[node].paused = false;
                self.nodes[node].life.iter().for_each(Incarnation::release);
                self.let_go(node);
                self.look_at_timers();
            }
            Order::Drift(millionths) => self.nodes[node].skew.drift(now, millionths),
            Order::Jump(ahead) => {
                self.nodes[node].skew.jump(now, ahead);
                self.move_to(now);
                self.look_at_timers();
            }
            Order::Freeze => self.nodes[node].skew.freeze(now),
            Order::Slow(0 | 1) => self.end_slowness(node),
            Order::Slow(times) => self.nodes[node].slowness = times.into(),
            Order::Stopped(incarnation) => {
                if self.stage.faces.lock()[node].incarnation == incarnation {
                    self.crash(node);
                }
            }
        }
    }

    /// Ends the faults of a node.
    pub(super) fn heal_node(&mut self, node: usize) {
        if self.nodes[node].life.is_none() || self.nodes[node].stopping {
            self.carry_out(node, Order::Restart);
        }
        if self.nodes[node].paused {
            self.carry_out(node, Order::Resume);
        }
        self.nodes[node].skew.drift(self.stage.now(), 0);
        self.end_slowness(node);
    }

    /// Lets nothing of the node run any more.
    fn crash(&mut self, node: usize) {
        self.stage.faces.lock()[node].system = None;
        let readers = self.stage.fabric.lock().unplug(host(node));
        let state = &mut self.nodes[node];
        state.held.clear();
        state.paused = false;
        state.stopping = false;
        (state.busy_with, state.busy_until) = (None, 0);
        if let Some(life) = state.life.take() {
            life.hold();
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
    }
}
