use super::*;
use crate::rdma::sim::{Fabric, SimDevice, Weather};
use crate::rdma::verbs::{Device, DeviceInfo};
use std::cell::RefCell;
use std::io;

/// What a port of a device says.
#[derive(Clone, Copy)]
enum Says {
    Opens,
    /// And has no shared receives.
    OpensWithout,
    Down,
    NoGid,
    NotPermitted,
    System,
    Iwarp,
}

/// Devices with what each of their ports says; all others say that there is no such port.
struct Machine<'a> {
    devices: &'a [(&'a str, &'a [Says])],
    asked: RefCell<Asked>,
}

impl Verbs for Machine<'_> {
    type Device = SimDevice;

    fn devices(&self) -> Result<Vec<DeviceInfo>, OpenError> {
        let info = |(name, _): &(&str, _)| DeviceInfo { name: (*name).to_owned(), guid: 0 };
        Ok(self.devices.iter().map(info).collect())
    }

    fn open(&self, name: &str, port: u8, gid_index: u8) -> Result<SimDevice, OpenError> {
        self.asked.borrow_mut().push((name.to_owned(), port, gid_index));
        assert!(self.asked.borrow().len() < 1000, "it asks for ever");
        let (_, ports) = self.devices.iter().find(|(it, _)| *it == name).unwrap();
        match ports.get(usize::from(port) - 1) {
            Some(Says::Opens) => Fabric::new(1, Weather::fair()).host().open("sim0", 1, 0),
            Some(Says::OpensWithout) => {
                let fabric = Fabric::new(1, Weather::fair());
                let verbs = fabric.host();
                fabric.without_shared_receives(verbs.host());
                verbs.open("sim0", 1, 0)
            }
            Some(Says::Down) => Err(OpenError::PortDown(port)),
            Some(Says::NoGid) => Err(OpenError::NoGid(gid_index)),
            Some(Says::NotPermitted) => Err(OpenError::NotPermitted),
            Some(Says::System) => Err(OpenError::System(io::ErrorKind::OutOfMemory.into())),
            Some(Says::Iwarp) => Err(OpenError::Iwarp),
            None => Err(OpenError::NoPort(port)),
        }
    }
}

/// Devices, ports and indices.
type Asked = Vec<(String, u8, u8)>;

/// What is said, and which ports were asked.
fn opened(
    devices: &[(&str, &[Says])],
    name: Option<&str>,
) -> (Result<SimDevice, OpenError>, Asked) {
    let machine = Machine { devices, asked: RefCell::default() };
    let opened = open_first(&machine, name, None, |_, port| u8::MAX - port);
    (opened, machine.asked.into_inner())
}

fn asked(ports: &[(&str, u8)]) -> Asked {
    ports.iter().map(|&(name, port)| (name.to_owned(), port, u8::MAX - port)).collect()
}

#[test]
fn the_first_port_that_opens_is_taken() {
    let ports = [Says::Down, Says::NoGid, Says::Opens, Says::Opens];
    let (device, tried) = opened(&[("none", &[]), ("a", &ports), ("b", &ports)], None);
    assert!(device.unwrap().port().unwrap().is_up);
    assert_eq!(tried, asked(&[("none", 1), ("a", 1), ("a", 2), ("a", 3)]));
}

/// It is taken only where there is no other one, to say why it does not serve.
#[test]
fn a_device_that_cannot_serve_is_passed_over() {
    let (without, serves) = ([Says::OpensWithout; 3], [Says::Opens]);
    let served = |devices: &[(&str, &[Says])]| {
        let (device, tried) = opened(devices, None);
        (device.unwrap().limits().shared_receives > 0, tried)
    };
    let all = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1)];
    assert_eq!(served(&[("a", &without), ("b", &serves)]), (true, asked(&all)));
    assert_eq!(served(&[("a", &serves), ("b", &without)]), (true, asked(&all[..1])));
    assert!(!served(&[("a", &without), ("b", &[Says::Down])]).0);
}

#[test]
fn what_a_whole_device_says_is_not_asked_of_each_port() {
    for says in [Says::NotPermitted, Says::System, Says::Iwarp] {
        let (device, tried) = opened(&[("a", &[says; 200]), ("b", &[Says::Opens])], None);
        assert!(device.is_ok());
        assert_eq!(tried, asked(&[("a", 1), ("b", 1)]));
    }
}

#[test]
fn a_device_with_all_the_ports_there_can_be_ends() {
    let (device, tried) = opened(&[("a", &[Says::Down; 255][..])], None);
    assert!(matches!(device, Err(OpenError::PortDown(1))));
    assert_eq!(tried.len(), 255);
}

#[test]
fn every_port_is_looked_at() {
    let says = [Says::Down, Says::NoGid, Says::Opens, Says::Down, Says::Opens];
    let machine = Machine { devices: &[("a", &says)], asked: RefCell::default() };
    let opened =
        ports(&machine, "a", None, |_, port| port).map(|(port, opened)| (port, opened.is_ok()));
    let opened: Vec<_> = opened.collect();
    assert_eq!(opened, [(1, false), (2, false), (3, true), (4, false), (5, true)]);
}

#[test]
fn only_the_device_of_that_name_is_asked() {
    let devices: [(&str, &[Says]); 2] = [("a", &[Says::Opens]), ("b", &[Says::Down])];
    let (device, tried) = opened(&devices, Some("b"));
    assert!(matches!(device, Err(OpenError::PortDown(1))));
    assert_eq!(tried, asked(&[("b", 1), ("b", 2)]));
    let (device, tried) = opened(&devices, Some("c"));
    assert!(matches!(device, Err(OpenError::NoDevice(name)) if name == "c"));
    assert!(tried.is_empty());
}

/// Whoever has two networks says which one.
#[test]
fn only_the_port_of_that_number_is_asked() {
    let says = [Says::Opens, Says::Opens, Says::Down];
    let opened = |port| {
        let devices: [(&str, &[Says]); 2] = [("a", &says), ("b", &says)];
        let machine = Machine { devices: &devices, asked: RefCell::default() };
        let opened = open_first(&machine, None, Some(port), |_, port| u8::MAX - port);
        (opened, machine.asked.into_inner())
    };
    let (device, tried) = opened(2);
    assert!(device.is_ok());
    assert_eq!(tried, asked(&[("a", 2)]));
    let (device, tried) = opened(3);
    assert!(matches!(device, Err(OpenError::PortDown(3))));
    assert_eq!(tried, asked(&[("a", 3), ("b", 3)]));
    assert!(matches!(opened(4).0, Err(OpenError::NoPort(4))));
}

#[test]
fn the_one_that_was_nearest_says_why() {
    use Says::{Down, NoGid, NotPermitted, System};
    let why = |devices: &[(&str, &[Says])]| opened(devices, None).0.unwrap_err();
    for around in [[System, NotPermitted], [NotPermitted, System]] {
        let [first, last] = around.map(|says| [says]);
        assert!(matches!(why(&[("a", &first), ("b", &last)]), OpenError::NotPermitted));
        let found = why(&[("a", &first), ("b", &[NoGid, Down]), ("c", &last)]);
        assert!(matches!(found, OpenError::PortDown(2)));
        let found = why(&[("a", &first), ("b", &[NoGid]), ("c", &last)]);
        assert!(matches!(found, OpenError::NoGid(254)));
    }
    assert!(matches!(why(&[("a", &[Says::Iwarp])]), OpenError::Iwarp));
    assert!(matches!(why(&[]), OpenError::NoDevice(_)));
}
