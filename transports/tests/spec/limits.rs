//! Every limit of a lane and of an endpoint, and a test that tries it. One that is new has to join: the lists name each field
//! of their structs, or do not compile.

use std::fs;
use std::path::Path;

/// limits!(NAME, STRUCT { FIELD: FILE and TEST }): the list, of all fields of the struct.
macro_rules! limits {
    ($name:ident, $config:path { $($field:ident: $file:literal $test:ident,)+ }) => {
        const $name: &[(&str, &str, &str)] =
            &[$((stringify!($field), $file, stringify!($test)),)+];
        const _: fn($config) = |config| {
            let $config { $($field: _),+ } = config;
        };
    };
}

limits!(LANE, greenroom_transports::link::Config {
    packet_len_base: "tests/pair/cases.rs" packets_grow_to_what_the_path_takes_and_shrink_when_it_takes_less,
    packet_len_start: "tests/pair/cases.rs" over_a_carrier_that_loses_nothing_no_packet_is_sent_twice,
    packet_len_max: "src/link/mtu.rs" it_finds_what_the_path_takes,
    packet_len_raise_interval: "src/link/mtu.rs" it_notices_that_a_path_takes_less_or_more,
    message_len_max: "src/link/inbox/tests.rs" what_no_honest_peer_sends_has_its_reason,
    window_messages: "tests/hostile.rs" a_flood_stops_at_what_was_granted,
    window_bytes_start: "tests/hostile.rs" a_flood_stops_at_what_was_granted,
    window_bytes_max: "tests/pair/main.rs" a_receiver_that_takes_nothing_holds_no_more_than_it_granted,
    unacknowledged_bytes_max: "tests/hostile.rs" credit_without_end_is_believed_as_far_as_there_is_memory,
    reassemblies_max: "src/link/inbox/tests.rs" what_no_honest_peer_sends_has_its_reason,
    mailbox_messages_start: "src/link/mailbox.rs" senders_wait_only_for_what_is_not_placed,
    ack_delay_max: "src/link/received.rs" what_came_is_acknowledged_in_time,
    ack_every: "src/link/received.rs" what_came_is_acknowledged_in_time,
    ack_ranges_max: "src/link/ranges/tests.rs" what_is_over_is_forgotten_from_below,
    initial_rtt: "src/link/recovery/tests.rs" probes_back_off_up_to_a_bound,
    granularity: "src/link/recovery/tests.rs" lost_is_what_was_overtaken_far_or_long_enough,
    probe_delay_max: "src/link/recovery/tests.rs" probes_back_off_up_to_a_bound,
    loss_detection: "src/link/recovery/tests.rs" a_carrier_that_repeats_needs_no_timer,
    flight_bytes_max: "src/link/lane/tests.rs" a_window_beyond_what_the_peer_holds_does_not_grow,
    initial_window_packets: "src/link/lane/tests.rs" little_more_than_the_first_window_leaves_at_once_after_a_pause,
    skip_every: "tests/hostile.rs" each_offence_has_its_reason,
    keep_alive: "tests/pair/cases.rs" an_idle_association_costs_two_packets_a_second,
    suspect_after: "src/link/liveness.rs" the_dead_are_those_who_are_silent,
    dead_after: "src/link/liveness.rs" the_dead_are_those_who_are_silent,
    seed: "src/link/config.rs" the_defaults_fit_together_and_nonsense_does_not,
});

limits!(ENDPOINT, greenroom_transports::secure::endpoint::Config {
    suite: "src/secure/endpoint/tests/lifecycle.rs" who_requires_ml_kem_takes_nothing_less,
    require_hybrid: "src/secure/endpoint/tests/lifecycle.rs" who_requires_ml_kem_takes_nothing_less,
    lanes: "src/secure/endpoint/config.rs" limits_under_which_nothing_works_are_refused,
    datagram_bytes_max: "src/station/outgoing/tests.rs" a_black_hole_is_noticed_for_what_was_filled_up,
    window_bytes: "src/station/paired/tests.rs" a_queue_pair_is_not_bounded_by_the_peers_socket,
    associations_max: "src/secure/endpoint/tests/floods.rs" full_tables_refuse_and_keep_what_they_have,
    contacts_max: "src/secure/endpoint/tests/contacts.rs" a_cookie_is_asked_for_when_half_of_the_places_are_taken,
    met_max: "src/secure/endpoint/tests/contacts.rs" nodes_that_were_met_have_a_limit_and_those_that_are_allowed_none,
    transmits_max: "src/secure/endpoint/tests/floods.rs" answers_that_cannot_leave_make_room_for_newer_ones,
    source_rate: "src/secure/endpoint/tests/floods.rs" a_source_that_asks_too_often_is_put_off,
    renewal_rate: "src/secure/endpoint/tests/renewals.rs" who_repeats_what_a_peer_asked_uses_up_no_renewals,
    load_rate: "src/secure/endpoint/tests/floods.rs" under_load_a_cookie_is_asked_for_and_taken,
    load_hold: "src/secure/endpoint/tests/floods.rs" cookies_are_asked_for_until_the_load_is_over_for_a_while,
    source_sets: "src/secure/limit.rs" who_shares_a_set_is_known_to_nobody,
    audit_entries: "src/secure/audit.rs" the_ring_keeps_the_last_and_the_counters_all,
    rekey_after: "src/secure/endpoint/tests/lifecycle.rs" keys_are_renewed_by_age_packets_bytes_and_on_demand,
    rekey_packets: "src/secure/endpoint/tests/lifecycle.rs" keys_are_renewed_by_age_packets_bytes_and_on_demand,
    rekey_bytes: "src/secure/endpoint/tests/lifecycle.rs" keys_are_renewed_by_age_packets_bytes_and_on_demand,
    reject_after: "src/secure/endpoint/tests/lifecycle.rs" nothing_is_sealed_or_opened_under_keys_of_three_minutes,
    linger: "src/secure/endpoint/tests/lifecycle.rs" the_last_keys_linger_and_are_dropped,
    confirm_within: "src/secure/endpoint/tests/renewals.rs" keys_that_nobody_confirms_are_not_awaited_for_ever,
    retry_first: "src/secure/endpoint/tests/lifecycle.rs" a_node_that_does_not_answer_is_given_up,
    retry_max: "src/secure/endpoint/tests/lifecycle.rs" a_node_that_does_not_answer_is_given_up,
    give_up_after: "src/secure/endpoint/tests/lifecycle.rs" a_node_that_does_not_answer_is_given_up,
});

#[test]
fn every_limit_has_a_test_that_tries_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (limit, file, test) in LANE.iter().chain(ENDPOINT) {
        let text = fs::read_to_string(root.join(file)).expect("a source file");
        let head = format!("fn {test}(");
        let (before, _) = text.split_once(&head).unwrap_or_else(|| panic!("{limit}: no {test}"));
        let attributes: Vec<_> = before.lines().rev().take(3).collect();
        assert!(attributes.iter().any(|line| line.contains("#[test]")), "{limit}: {attributes:?}");
    }
}
