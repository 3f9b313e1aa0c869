//! What simulated machines are reached by.

use super::super::verbs::DeviceEvent;
use super::fabric::State;

impl State {
    pub(super) fn host_at(&self, gid: &[u8; 16]) -> Option<usize> {
        self.hosts.iter().position(|host| host.gids.contains(gid))
    }

    /// The machine has another address than any had before.
    pub(super) fn readdress(&mut self, host: usize) {
        let gid = self.next_gid();
        let Some(it) = self.hosts.get_mut(host) else { return };
        it.gids = vec![gid];
        self.tell(host, DeviceEvent::GidsChanged);
    }

    /// The same, by an address of the link alone.
    pub(super) fn readdress_by_link(&mut self, host: usize) {
        self.readdress(host);
        if let Some(gid) = self.hosts.get_mut(host).and_then(|it| it.gids.first_mut()) {
            gid[..12].copy_from_slice(&[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }

    /// The machine has one more.
    pub(super) fn address(&mut self, host: usize) {
        let gid = self.next_gid();
        let Some(it) = self.hosts.get_mut(host) else { return };
        it.gids.push(gid);
        self.tell(host, DeviceEvent::GidsChanged);
    }

    /// A GID that no machine had: of an IPv4 address, as RoCE has it.
    pub(super) fn next_gid(&mut self) -> [u8; 16] {
        self.addresses += 1;
        let mut gid = [0; 16];
        gid[10..12].copy_from_slice(&[0xff; 2]);
        gid[12] = 10;
        gid[13..].copy_from_slice(&self.addresses.to_be_bytes()[1..]);
        gid
    }

    /// Whether that machine is up, and reached by that GID.
    pub(super) fn is_at(&self, host: usize, gid: &[u8; 16]) -> bool {
        self.is_up(host) && self.hosts[host].gids.contains(gid)
    }
}
