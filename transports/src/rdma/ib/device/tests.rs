use super::*;

#[test]
fn only_the_port_that_is_used_goes_up_and_down() {
    assert_eq!(happened(event::PORT_ERR, 2, 2), DeviceEvent::PortDown);
    assert_eq!(happened(event::PORT_ACTIVE, 2, 2), DeviceEvent::PortUp);
    for kind in [event::PORT_ERR, event::PORT_ACTIVE] {
        assert_eq!(happened(kind, 1, 2), DeviceEvent::Other(kind));
    }
}
