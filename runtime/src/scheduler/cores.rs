//! The processors that workers are pinned to.

use super::topology;
use crate::sync::thread;
use core_affinity::CoreId;
use std::path::Path;

/// Which processor each worker takes; empty where they are not pinned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cores(Vec<CoreId>);

impl Cores {
    /// The processors that the process may use, in the order in which workers take them. Reads files.
    pub(crate) fn of_this_machine() -> Self {
        let allowed: Vec<_> =
            core_affinity::get_core_ids().unwrap_or_default().iter().map(|core| core.id).collect();
        let order = topology::in_order(Path::new(topology::SYSFS), &allowed);
        Self(order.into_iter().map(|id| CoreId { id }).collect())
    }

    /// The processor of that worker.
    pub(super) fn of(&self, worker: usize) -> Option<CoreId> {
        self.0.get(worker % self.0.len().max(1)).copied()
    }

    /// Makes something in memory that is near that worker: the kernel takes a page from the memory of the
    /// processor that touches it first. So where workers are pinned, a thread on that processor makes it.
    pub(super) fn near<T: Send + 'static>(
        &self,
        worker: usize,
        make: impl FnOnce() -> T + Clone + Send + 'static,
    ) -> T {
        let Some(core) = self.of(worker) else { return make() };
        let there = make.clone();
        let thread = thread::Builder::new().spawn(move || {
            core_affinity::set_for_current(core);
            there()
        });
        // Without a thread it is made here: that costs time later, not more.
        thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(make)
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle))))]
mod tests {
    use super::Cores;
    use std::fs;

    /// The processors that the calling thread may run on, as the kernel writes them.
    fn allowed() -> String {
        let status = fs::read_to_string("/proc/thread-self/status").expect("the kernel tells");
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.expect("it tells this, too").trim().to_owned()
    }

    #[test]
    fn what_is_to_be_near_a_worker_is_made_on_its_core() {
        let cores = Cores::of_this_machine();
        for worker in 0..3 {
            let core = cores.of(worker).expect("the process may use a core");
            assert_eq!(cores.near(worker, allowed), core.id.to_string());
        }
    }

    #[test]
    fn what_is_to_be_near_nobody_is_made_here() {
        assert_eq!(Cores::default().near(0, allowed), allowed());
    }
}
