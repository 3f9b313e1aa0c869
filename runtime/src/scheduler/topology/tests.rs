//! Machines as the kernel would describe them, and some as it would not.

use super::{in_order, list};
use std::fs;
use std::path::{Path, PathBuf};

/// A made-up sysfs, removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("greenroom-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).expect("temporary files can be written");
        Self(root)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.0.join(path);
        let folder = path.parent().expect("it lies below the root");
        fs::create_dir_all(folder).expect("temporary files can be written");
        fs::write(path, text).expect("temporary files can be written");
        self
    }

    fn cpu(&self, cpu: usize, package: &str, siblings: &str) -> &Self {
        let folder = format!("cpu/cpu{cpu}/topology");
        self.file(&format!("{folder}/physical_package_id"), package);
        self.file(&format!("{folder}/thread_siblings_list"), siblings)
    }

    fn order(&self, allowed: &[usize]) -> Vec<usize> {
        in_order(&self.0, allowed)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Two nodes with two cores of two threads each; threads are numbered across, as Linux does.
fn two_nodes(name: &str) -> Tree {
    let tree = Tree::new(name);
    tree.file("node/node0/cpulist", "0,2,4,6\n").file("node/node1/cpulist", "1,3,5,7\n");
    tree.file("node/possible", "0-1\n");
    for cpu in 0..8 {
        let package = format!("{}\n", cpu % 2);
        tree.cpu(cpu, &package, &format!("{},{}\n", cpu % 4, cpu % 4 + 4));
    }
    tree
}

#[test]
fn each_core_comes_before_any_second_thread_and_nodes_stay_together() {
    let tree = two_nodes("nodes");
    assert_eq!(tree.order(&[0, 1, 2, 3, 4, 5, 6, 7]), [0, 2, 1, 3, 4, 6, 5, 7]);
}

#[test]
fn what_the_process_may_not_use_is_left_out() {
    let tree = two_nodes("mask");
    // Of core 1 only the second thread is allowed, so it is the core's first.
    assert_eq!(tree.order(&[0, 4, 5, 7]), [0, 5, 7, 4]);
    assert_eq!(tree.order(&[]), []);
}

#[test]
fn processors_that_are_off_are_left_out() {
    let tree = two_nodes("off");
    tree.file("cpu/cpu1/online", "0\n").file("cpu/cpu2/online", "1\n");
    assert_eq!(tree.order(&[0, 1, 2, 3]), [0, 2, 3]);
}

#[test]
fn an_unknown_machine_keeps_the_given_order() {
    let nowhere = Path::new("/nowhere/at/all");
    assert_eq!(in_order(nowhere, &[0, 1, 5]), [0, 1, 5]);
    let tree = Tree::new("all-off");
    tree.file("cpu/cpu3/online", "0").file("cpu/cpu4/online", "0");
    assert_eq!(tree.order(&[3, 4]), [3, 4]);
}

#[test]
fn nonsense_makes_a_processor_a_core_of_its_own() {
    let tree = Tree::new("nonsense");
    tree.cpu(0, "-1", "0-99999999999").cpu(1, "one", "2-0").cpu(2, "", "0,1").cpu(3, "0", "0,3");
    tree.file("node/nodeX/cpulist", "0-3").file("node/node1/cpulist", "0-").file("node/node2", "3");
    tree.file("cpu/cpu1/online", "perhaps");
    assert_eq!(tree.order(&[0, 1, 2, 3]), [0, 1, 2, 3]);
}

#[test]
fn a_list_is_read_as_the_kernel_writes_it() {
    assert_eq!(list("0-2,5,7-7\n"), Some(vec![0, 1, 2, 5, 7]));
    assert_eq!(list("\n"), Some(vec![]));
    for wrong in ["0-", "-1", "3-1", "a", "0;1", "0-4294967296", "0 1"] {
        assert_eq!(list(wrong), None, "{wrong:?}");
    }
}
