use super::*;

const OTHER: u64 = 8;

fn terms() -> Terms {
    Terms { receives: 64, packet_bytes: 9000, ..Terms::default() }
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Two ends that have made their queue pairs and wait for the proof.
fn proving() -> [Pairing; 2] {
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed);
    let mut second = Pairing::new(at(0), Role::Answers, Trust::Sealed);
    assert!(matches!(first.on_timeout(at(0), 7), Step::Want(Want::Open { .. })));
    let Step::Tell(offer) = first.on_made(at(0), 7, Ok(terms())) else { panic!("no offer") };
    assert!(matches!(second.on_word(at(0), &offer, 3), Step::Want(Want::Accept { .. })));
    let Step::Tell(accept) = second.on_made(at(0), 7, Ok(terms())) else { panic!("no answer") };
    assert!(matches!(first.on_word(at(0), &accept, 4), Step::Want(Want::Connect { .. })));
    assert_eq!(first.on_made(at(0), 7, Ok(terms())), Step::Show);
    [first, second]
}

// [RDMA-41] [RDMA-42]
#[test]
fn words_of_another_attempt_and_ready_by_udp_do_nothing() {
    let others = [
        Word::Accept { attempt: OTHER, terms: terms(), plain: true },
        Word::Refuse { attempt: OTHER },
        Word::End { attempt: OTHER },
        Word::Ready { attempt: OTHER },
        Word::Ready { attempt: 7 },
        Word::Again,
    ];
    for mut end in proving() {
        for word in others {
            assert_eq!(end.on_word(at(1), &word, 1), Step::Stay, "{word:?}");
            assert!(!end.is_used());
        }
        assert!(matches!(end.on_ready(at(1)), Step::Use { .. } | Step::ShowAndUse { .. }));
        let gone = Step::GiveUp { why: Why::PeerEnded, word: None };
        assert_eq!(end.on_word(at(2), &Word::End { attempt: 7 }, 1), gone);
    }
}

// [RDMA-41]
#[test]
fn what_was_made_for_another_attempt_does_nothing() {
    let mut end = Pairing::new(at(0), Role::Answers, Trust::Sealed);
    let offer = |attempt| Word::Offer { attempt, terms: terms(), plain: false };
    assert!(matches!(end.on_word(at(0), &offer(7), 3), Step::Want(Want::Accept { .. })));
    let gone = Step::GiveUp { why: Why::PeerEnded, word: None };
    assert_eq!(end.on_word(at(1000), &offer(OTHER), 3), gone);
    assert!(matches!(end.on_word(at(1000), &offer(OTHER), 3), Step::Want(_)));
    for made in [Ok(terms()), Err(Why::NotMade)] {
        assert_eq!(end.on_made(at(1000), 7, made), Step::Stay);
    }
    assert!(matches!(end.on_made(at(1000), OTHER, Ok(terms())), Step::Tell(_)));
}

// [RDMA-44]
#[test]
fn another_attempt_comes_after_ever_longer_pauses_and_soon_if_asked() {
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed);
    let (mut now, mut pauses) = (at(0), Vec::new());
    for attempt in 0..10 {
        assert!(matches!(first.on_timeout(now, attempt), Step::Want(_)));
        let gone = first.on_made(now, attempt, Err(Why::NoDevice));
        assert_eq!(gone, Step::GiveUp { why: Why::NoDevice, word: None });
        let next = first.timeout().expect("it tries again");
        pauses.push(next.since(now).as_millis());
        now = next;
    }
    assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    first.on_timeout(now, 77);
    first.on_made(now, 77, Err(Why::NoDevice));
    first.on_word(now, &Word::Again, 0);
    assert_eq!(first.timeout(), Some(now + PAUSE_MIN));
}

// [RDMA-48]
#[test]
fn attempts_do_not_begin_as_often_as_the_peer_asks() {
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed);
    let mut second = Pairing::new(at(0), Role::Answers, Trust::Sealed);
    let mut begun = [0, 0];
    for now in (0..1000).map(at) {
        let attempt = now.as_nanos();
        first.on_word(now, &Word::Again, 0);
        if matches!(first.on_timeout(now, attempt), Step::Want(_)) {
            begun[0] += 1;
            first.on_made(now, attempt, Ok(terms()));
        }
        first.on_word(now, &Word::Refuse { attempt: first.attempt() }, 0);
        let offer = Word::Offer { attempt, terms: terms(), plain: false };
        match second.on_word(now, &offer, 0) {
            Step::Want(_) => begun[1] += 1,
            step => assert!(matches!(step, Step::Drop | Step::GiveUp { .. }), "{step:?}"),
        }
    }
    assert_eq!(begun, [4, 4]);
}

// [RDMA-44]
#[test]
fn what_nobody_answers_or_nobody_empties_is_given_up() {
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed);
    first.on_timeout(at(0), 7);
    assert!(matches!(first.on_made(at(0), 7, Ok(terms())), Step::Tell(_)));
    let mut offers = 1;
    let last = loop {
        let due = first.timeout().expect("it waits for an answer");
        match first.on_timeout(due, 1) {
            Step::Tell(_) => offers += 1,
            step => break step,
        }
    };
    let word = Some(Word::End { attempt: 7 });
    assert_eq!((offers, last), (OFFERS, Step::GiveUp { why: Why::Unanswered, word }));
    let [mut first, _] = proving();
    first.on_ready(at(5));
    first.set_blocked(at(10), Blocked::Yes);
    first.set_blocked(at(900), Blocked::Yes);
    assert_eq!(first.timeout(), Some(at(1010)));
    assert_eq!(first.on_timeout(at(1010), 1), Step::GiveUp { why: Why::Stalled, word });
}
