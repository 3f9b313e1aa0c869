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

/// Of a queue pair that takes its receives from a queue of several, and with which nothing is under way, some devices say
/// the last of these alone.
// [RDMA-15]
#[test]
fn whatever_an_event_says_of_a_queue_pair_it_has_failed() {
    let kinds =
        [event::QP_FATAL, event::QP_REQ_ERR, event::QP_ACCESS_ERR, event::QP_LAST_WQE_REACHED];
    for kind in kinds {
        assert_eq!(happened(kind, 77, 2), DeviceEvent::QueuePairFailed { qpn: 77 });
    }
}

/// Some drivers of RoCE devices give their port a LID, and the kernel takes no address on Ethernet without a GID.
// [RDMA-8]
#[test]
fn who_is_on_ethernet_is_reached_by_gid_whatever_its_lid() {
    for (link_layer, lid, own) in [(LINK_LAYER_ETHERNET, 1, 0), (0, 1, 1), (0, 0, 0)] {
        let mut attributes = PortAttr::default();
        (attributes.link_layer, attributes.lid) = (link_layer, lid);
        assert_eq!(port_of(&attributes, [7; 16]).lid, own);
    }
    for (is_ethernet, lid, is_global) in [(true, 1, 1), (true, 0, 1), (false, 1, 0), (false, 0, 1)]
    {
        let place = Place { port: 1, gid_index: 0, is_ethernet };
        let way = place.way(&Endpoint { lid, ..Endpoint::default() });
        assert_eq!((way.dlid, way.is_global), (lid, is_global));
    }
}

#[test]
fn a_limit_is_named_only_where_memory_is_short_and_there_is_one() {
    let [short, other] = [libc::ENOMEM, libc::EINVAL].map(io::Error::from_raw_os_error);
    assert_eq!(met(&short, Some(65_536)), Some(65_536));
    for (error, lockable) in [(&short, Some(u64::MAX)), (&short, None), (&other, Some(65_536))] {
        assert_eq!(met(error, lockable), None, "{error}");
    }
}
