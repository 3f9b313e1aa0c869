//! The addresses of a port, as the kernel shows them under `/sys/class/infiniband`.

use std::fs;
use std::io::ErrorKind;
use std::net::Ipv6Addr;
use std::path::Path;

/// One address of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gid {
    /// Its place in the port's table, to [open](crate::rdma::verbs::Verbs::open) the port by.
    pub index: u8,
    /// The address; an IPv4 address is mapped into IPv6.
    pub address: Ipv6Addr,
    /// Its kind in the kernel's words: `IB/RoCE v1` or `RoCE v2`; empty where it does not say.
    pub kind: String,
}

impl Gid {
    /// Whether its packets are UDP, which routers take.
    #[must_use]
    pub fn is_routable(&self) -> bool {
        self.kind == "RoCE v2"
    }

    /// How well it serves to be reached by; more is better.
    fn rank(&self) -> u8 {
        let is_v4 = self.address.to_ipv4_mapped().is_some();
        let is_of_link = self.address.is_unicast_link_local();
        u8::from(self.is_routable()) * 4 + u8::from(is_v4) * 2 + u8::from(!is_of_link)
    }
}

/// The addresses that a port has, by index. None if the kernel shows no such port.
#[must_use]
pub fn gids(device: &str, port: u8) -> Vec<Gid> {
    gids_in(Path::new(&format!("/sys/class/infiniband/{device}/ports/{port}")))
}

fn gids_in(port: &Path) -> Vec<Gid> {
    let read = |name: String| fs::read_to_string(port.join(name));
    // Where there is no file any more the table ends; of an empty place it cannot be read, or says zero.
    let places = (0..=u8::MAX).map_while(|index| match read(format!("gids/{index}")) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some((index, read.unwrap_or_default())),
    });
    let found = places.filter_map(|(index, text)| {
        let address = text.trim().parse().ok().filter(|it| *it != Ipv6Addr::UNSPECIFIED)?;
        let kind = read(format!("gid_attrs/types/{index}")).unwrap_or_default();
        Some(Gid { index, address, kind: kind.trim().to_owned() })
    });
    found.collect()
}

/// The address to be reached by: of RoCE v2 rather than v1, of IPv4 rather than IPv6, of the network rather
/// than of the link; the first of those that are as good.
#[must_use]
pub fn best_gid(device: &str, port: u8) -> Option<Gid> {
    gids(device, port).into_iter().rev().max_by_key(Gid::rank)
}

#[cfg(test)]
mod tests;
