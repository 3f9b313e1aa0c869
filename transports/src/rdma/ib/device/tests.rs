use super::*;

#[test]
fn only_what_happens_to_the_port_that_is_used_counts() {
    assert_eq!(happened(event::PORT_ERR, 2, 2), DeviceEvent::PortDown);
    assert_eq!(happened(event::PORT_ACTIVE, 2, 2), DeviceEvent::PortUp);
    assert_eq!(happened(event::GID_CHANGE, 2, 2), DeviceEvent::GidsChanged);
    for kind in [event::PORT_ERR, event::PORT_ACTIVE, event::GID_CHANGE] {
        assert_eq!(happened(kind, 1, 2), DeviceEvent::Other(kind));
    }
}
