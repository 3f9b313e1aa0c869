//! Which core a pinned worker gets: one worker per physical core first, and the nearest first.
//!
//! The kernel says in sysfs which processors share a core, a package and a memory node. Two workers on
//! one core share its execution units, so a core's second hardware thread is taken only when every core
//! has a worker; and workers that talk to each other are best on one node.
//!
//! Whatever cannot be read is left out of the order, never an error: a processor of which nothing is
//! known counts as a core of its own on the first node.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where the kernel describes the machine.
pub(crate) const SYSFS: &str = "/sys/devices/system";

/// Numbers above this are no processor's.
const CPU_MAX: usize = 1 << 16;

/// Where a processor is; near ones are close in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    node: usize,
    package: usize,
    /// The first processor of its core.
    core: usize,
}

/// Puts the processors that the process may use into the order in which workers should take them.
/// `root` is [`SYSFS`] or looks like it. Reads files.
pub(crate) fn in_order(root: &Path, allowed: &[usize]) -> Vec<usize> {
    let nodes = nodes(root);
    let mut cores = BTreeMap::<Place, Vec<usize>>::new();
    for &cpu in allowed.iter().filter(|&&cpu| is_online(root, cpu)) {
        let node = nodes.get(&cpu).copied().unwrap_or(0);
        cores.entry(place(root, cpu, node)).or_default().push(cpu);
    }
    let threads_max = cores.values().map(Vec::len).max().unwrap_or(0);
    let nth_threads = |nth| cores.values().filter_map(move |threads| threads.get(nth).copied());
    let order: Vec<usize> = (0..threads_max).flat_map(nth_threads).collect();
    if order.is_empty() { allowed.to_vec() } else { order }
}

/// The node of each processor that is in one.
fn nodes(root: &Path) -> BTreeMap<usize, usize> {
    let mut nodes = BTreeMap::new();
    let Ok(entries) = fs::read_dir(root.join("node")) else { return nodes };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok());
        let cpus = fs::read_to_string(entry.path().join("cpulist")).ok();
        let (Some(number), Some(cpus)) = (number, cpus.as_deref().and_then(list)) else { continue };
        nodes.extend(cpus.into_iter().map(|cpu| (cpu, number)));
    }
    nodes
}

fn is_online(root: &Path, cpu: usize) -> bool {
    // Processors that cannot be turned off have no such file.
    let online = fs::read_to_string(root.join(format!("cpu/cpu{cpu}/online")));
    online.map_or(true, |text| text.trim() != "0")
}

fn place(root: &Path, cpu: usize, node: usize) -> Place {
    let read =
        |file: &str| fs::read_to_string(root.join(format!("cpu/cpu{cpu}/topology/{file}"))).ok();
    // The kernel writes -1 where it does not know.
    let package = read("physical_package_id").and_then(|text| text.trim().parse().ok());
    let siblings = read("thread_siblings_list").as_deref().and_then(list);
    // A list without the processor itself is not about its core.
    let siblings = siblings.filter(|siblings| siblings.contains(&cpu));
    let core = siblings.and_then(|siblings| siblings.into_iter().min());
    Place { node, package: package.unwrap_or(0), core: core.unwrap_or(cpu) }
}

/// Reads a list as the kernel writes it: `0-3,8`. `None` for anything else.
fn list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last > CPU_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(all(test, not(shuttle)))]
mod tests;
