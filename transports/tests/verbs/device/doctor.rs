//! What the doctor says of a device that is well, and of one that is not.

use super::{LinkDown, is_guest};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::rdma::doctor::{State, look};
use greenroom_transports::rdma::ib::{IbVerbs, best_gid, gids};
use greenroom_transports::rdma::verbs::Verbs;

/// The doctor finds what is wrong with each machine, also with one that has no device.
#[test]
fn what_is_wrong_has_a_cure() {
    let findings = look(&Rdma::auto());
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding.state == State::Good, finding.mend.is_empty(), "{finding:?}");
    }
}

#[test]
#[ignore = "needs an RDMA device"]
fn a_port_has_addresses() {
    let devices = IbVerbs.devices().expect("libibverbs is there");
    let name = &devices.first().expect("there is a device").name;
    let (all, best) = (gids(name, 1), best_gid(name, 1).expect("an address"));
    assert!(all.contains(&best));
    assert!(IbVerbs.open(name, 1, best.index).is_ok());
    assert!(gids("none0", 1).is_empty());
    if is_guest() {
        assert_eq!((best.index, best.is_routable()), (1, true), "{all:?}");
        assert_eq!(best.address.to_string(), "::ffff:10.9.0.1");
    }
}

/// As far as a file says so, a node uses it.
#[test]
#[ignore = "needs an RDMA device"]
fn the_doctor_looks_at_what_a_node_uses() {
    let devices = IbVerbs.devices().expect("libibverbs is there");
    let name = &*devices.first().expect("there is a device").name;
    let only = |wanted: &Rdma, what| {
        let mut found = look(wanted);
        let at = found.iter().position(|finding| finding.what == what);
        found.swap_remove(at.unwrap_or_else(|| panic!("{what}: {found:#?}")))
    };
    let first = gids(name, 1)[0].index;
    let address = only(&Rdma::device(name).gid(first), "RDMA address");
    assert!(address.seen.contains(&format!("at index {first},")), "{address:?}");
    let port = only(&Rdma::device(name).port(200.try_into().unwrap()), "RDMA port");
    assert_eq!(port.state, State::Bad, "{port:?}");
    let device = only(&Rdma::device("none0"), "RDMA devices");
    assert!(device.state == State::Bad && device.seen.ends_with(name), "{device:?}");
}

#[test]
#[ignore = "needs an RDMA device"]
fn the_doctor_sees_a_link_that_is_down() {
    if !is_guest() {
        // Nobody takes down a link that others use.
        return;
    }
    let mut well = look(&Rdma::auto());
    // An emulator may keep the loopback waiting for longer than it has.
    for _ in 0..4 {
        if well.iter().any(|finding| finding.state != State::Good) {
            well = look(&Rdma::auto());
        }
    }
    assert!(well.iter().all(|finding| finding.state == State::Good), "{well:#?}");
    let about: Vec<_> = well.iter().map(|finding| finding.what).collect();
    assert_eq!(about, ["RDMA address", "RDMA MTU", "RDMA memory", "RDMA loopback", "RDMA queues"]);
    let down = LinkDown::new();
    let ill = look(&Rdma::auto());
    drop(down);
    let [finding] = &ill[..] else { panic!("{ill:#?}") };
    assert_eq!((finding.state, finding.what), (State::Bad, "RDMA port"));
    while look(&Rdma::auto()).iter().any(|finding| finding.state != State::Good) {
        // The address comes back a little later than the link.
        std::thread::yield_now();
    }
}
