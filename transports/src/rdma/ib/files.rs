//! The files by which devices are opened, as the kernel shows them under `/sys/class/infiniband_verbs`.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

/// Whether this user may not open the file of that device. libibverbs says of it that there is none, since it looks for
/// another way to it.
pub(super) fn is_barred(device: &str) -> bool {
    let Ok(all) = fs::read_dir("/sys/class/infiniband_verbs") else { return false };
    let is_its = |shown: &Path| {
        fs::read_to_string(shown.join("ibdev")).is_ok_and(|name| name.trim() == device)
    };
    let mut files = all.filter_map(|entry| {
        let entry = entry.ok().filter(|entry| is_its(&entry.path()))?;
        Some(Path::new("/dev/infiniband").join(entry.file_name()))
    });
    files.any(|file| {
        let opened = OpenOptions::new().read(true).write(true).open(file);
        opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    })
}
