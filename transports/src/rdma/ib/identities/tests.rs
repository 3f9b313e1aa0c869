use super::*;
use crate::rdma::verbs::WorkId;
use std::sync::mpsc::channel;
use std::thread;

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

/// Queue pairs are made and destroyed by whoever connects them, while another thread polls: each completion is of the queue
/// pair that it came from, also where its number was that of another one, all of whose were polled.
#[test]
fn who_polls_knows_what_others_make_meanwhile() {
    const ROUNDS: u64 = if cfg!(miri) { 50 } else { 20_000 };
    let identities = Identities::default();
    thread::scope(|scope| {
        let (posted, polled) = channel();
        for maker in 0..3 {
            let (identities, posted) = (&identities, posted.clone());
            scope.spawn(move || {
                let (taken, done) = channel();
                for round in 0..ROUNDS {
                    let identity = Identity { pair: fresh(), receives: fresh() };
                    // Each maker has numbers of its own, and uses them again.
                    let qpn = maker + 3 * (round % 2) as u32;
                    identities.add(qpn, identity);
                    posted.send((qpn, identity, taken.clone())).expect("it is polled");
                    done.recv().expect("it is polled");
                    identities.remove(qpn, identity);
                }
            });
        }
        drop(posted);
        let mut known = Known::default();
        for (qpn, identity, taken) in polled {
            let marked = marked(&identities, &mut known, qpn);
            assert_eq!(marked, [identity.pair, identity.receives]);
            taken.send(()).expect("its maker waits");
        }
    });
    let mut known = Known::default();
    assert_eq!((0..6).flat_map(|qpn| marked(&identities, &mut known, qpn)).max(), Some(0));
}
