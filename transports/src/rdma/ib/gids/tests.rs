use super::*;

/// A port's folder as the kernel shows it.
struct Port(std::path::PathBuf);

impl Port {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("greenroom-gids-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("gids")).unwrap();
        fs::create_dir_all(folder.join("gid_attrs/types")).unwrap();
        Self(folder)
    }

    fn put(&self, index: u8, address: &str, kind: Option<&str>) {
        fs::write(self.0.join(format!("gids/{index}")), format!("{address}\n")).unwrap();
        if let Some(kind) = kind {
            fs::write(self.0.join(format!("gid_attrs/types/{index}")), format!("{kind}\n"))
                .unwrap();
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whoever looks for a port does so on the task that drives all links, and reads a file for each place.
#[test]
fn a_table_is_read_to_its_end_and_no_further() {
    let port = Port::new("end");
    port.put(0, "fe80:0000:0000:0000:0202:03ff:fe04:0506", Some("IB/RoCE v1"));
    port.put(1, "0000:0000:0000:0000:0000:0000:0000:0000", None);
    // Some kernels say nothing of a place that is empty.
    port.put(2, "", None);
    port.put(3, "0000:0000:0000:0000:0000:ffff:0a09:0001", Some("RoCE v2"));
    port.put(5, "fe80:0000:0000:0000:0202:03ff:fe04:0507", Some("RoCE v2"));
    let found = gids_in(&port.0);
    let indices: Vec<_> = found.iter().map(|gid| gid.index).collect();
    assert_eq!(indices, [0, 3], "there is no place 4");
    assert!(found[1].is_routable() && !found[0].is_routable());
    assert_eq!(gids_in(&port.0.join("none")), []);
}
