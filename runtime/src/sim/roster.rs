//! Who takes part in a world, and who of them could run.

use super::world::Task;

/// What one of them does when it runs.
pub(super) enum Work {
    /// The future that the world is run for.
    Main,
    /// Tokio's tasks.
    Reactor,
    Worker {
        node: usize,
        index: usize,
    },
    /// What the actors of a node have begun beside themselves, while the node is slow.
    Beside(usize),
    /// A task, and the node that it belongs to. Empty while it is polled.
    Task(Option<Task>, Option<usize>),
    Gone,
}

impl Work {
    /// The node that it belongs to.
    pub(super) fn node(&self) -> Option<usize> {
        match self {
            Self::Worker { node, .. } | Self::Beside(node) | Self::Task(_, Some(node)) => {
                Some(*node)
            }
            Self::Main | Self::Reactor | Self::Task(_, None) | Self::Gone => None,
        }
    }
}

/// See the [module](self).
pub(super) struct Roster {
    all: Vec<Work>,
    /// Those who could run, in the order in which they became ready.
    ready: Vec<usize>,
    is_ready: Vec<bool>,
}

impl Roster {
    pub(super) const MAIN: usize = 0;
    pub(super) const REACTOR: usize = 1;

    pub(super) fn new() -> Self {
        Self { all: vec![Work::Main, Work::Reactor], ready: Vec::new(), is_ready: vec![false; 2] }
    }

    /// The number of the next one to be added.
    pub(super) fn next_number(&self) -> usize {
        self.all.len()
    }

    pub(super) fn add(&mut self, work: Work) -> usize {
        self.all.push(work);
        self.is_ready.push(false);
        self.all.len() - 1
    }

    pub(super) fn work(&mut self, number: usize) -> &mut Work {
        &mut self.all[number]
    }

    /// Lets one run behind those who can already.
    pub(super) fn make_ready(&mut self, number: usize) {
        if !std::mem::replace(&mut self.is_ready[number], true) {
            self.ready.push(number);
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.ready.is_empty()
    }

    /// Those who could run, oldest first.
    pub(super) fn ready(&self) -> impl ExactSizeIterator<Item = u64> + Clone + '_ {
        self.ready.iter().map(|&number| number as u64)
    }

    /// Takes one of those who could run.
    pub(super) fn take(&mut self, place: usize) -> usize {
        let number = self.ready.remove(place);
        self.is_ready[number] = false;
        number
    }

    /// Takes all of a node that could run, oldest first.
    pub(super) fn take_all_of(&mut self, node: usize) -> Vec<usize> {
        let all = &self.all;
        let of_node = |number: &mut usize| all[*number].node() == Some(node);
        let taken: Vec<_> = self.ready.extract_if(.., of_node).collect();
        taken.iter().for_each(|&number| self.is_ready[number] = false);
        taken
    }

    /// Lets all that belongs to a node run no more; its tasks go to `remains`.
    pub(super) fn end_all_of(&mut self, node: usize, remains: &mut Vec<Task>) {
        for (number, work) in self.all.iter_mut().enumerate() {
            if work.node() == Some(node) {
                self.is_ready[number] = false;
                if let Work::Task(Some(task), _) = std::mem::replace(work, Work::Gone) {
                    remains.push(task);
                }
            }
        }
        let is_ready = &self.is_ready;
        self.ready.retain(|&number| is_ready[number]);
    }

    /// Drops all tasks.
    pub(super) fn end(&mut self) {
        self.ready.clear();
        self.all.clear();
    }

    /// The tasks that are not done.
    pub(super) fn describe<'a>(&self, name: impl Fn(usize) -> &'a str) -> String {
        let task = |(number, work): (usize, &Work)| match work {
            Work::Task(_, None) => Some(format!("  task {number} waits\n")),
            Work::Task(_, Some(node)) => {
                Some(format!("  task {number} of node {:?} waits\n", name(*node)))
            }
            Work::Main | Work::Reactor | Work::Worker { .. } | Work::Beside(_) | Work::Gone => None,
        };
        self.all.iter().enumerate().filter_map(task).collect()
    }
}
