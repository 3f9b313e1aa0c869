use super::*;
use crate::rdma::verbs::WorkId;

fn marked(identities: &Identities, known: &mut Known, qpn: u32) -> [u64; 2] {
    let mut both = [Direction::Send, Direction::Receive].map(|direction| Completion {
        work: WorkId::new(direction, 5, 0),
        qpn,
        ..Completion::default()
    });
    identities.mark(known, &mut both);
    both.map(|completion| completion.queue)
}

#[test]
fn a_number_that_is_used_again_is_of_another_queue() {
    let (identities, shared) = (Identities::default(), fresh());
    let mut known = Known::default();
    let mut marked = |qpn| marked(&identities, &mut known, qpn);
    let [first, second] = [(); 2].map(|()| Identity { pair: fresh(), receives: shared });
    identities.add(17, first);
    assert_eq!(marked(17), [first.pair, shared]);
    assert_eq!(marked(18), [0, 0], "it is of nobody");
    // The device has given the number away before the handle of the one that was destroyed is gone.
    identities.add(17, second);
    identities.remove(17, first);
    assert_eq!(marked(17), [second.pair, shared]);
    assert_ne!(first.pair, second.pair);
    identities.remove(17, second);
    assert_eq!(marked(17), [0, 0]);
}
