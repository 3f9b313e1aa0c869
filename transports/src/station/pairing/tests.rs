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
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed, Attempts::new(at(0)));
    let mut second = Pairing::new(at(0), Role::Answers, Trust::Sealed, Attempts::new(at(0)));
    assert!(matches!(first.on_timeout(at(0), 7, None), Step::Want(Want::Open { .. })));
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
    let mut end = Pairing::new(at(0), Role::Answers, Trust::Sealed, Attempts::new(at(0)));
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

/// An end that has offered, and one that was asked to connect a queue pair to that one's.
fn offered() -> ([Pairing; 2], Word) {
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed, Attempts::new(at(0)));
    let mut second = Pairing::new(at(0), Role::Answers, Trust::Sealed, Attempts::new(at(0)));
    first.on_timeout(at(0), 7, None);
    let Step::Tell(offer) = first.on_made(at(0), 7, Ok(terms())) else { panic!("no offer") };
    assert!(matches!(second.on_word(at(0), &offer, 3), Step::Want(Want::Accept { .. })));
    ([first, second], offer)
}

/// It is the end that offers which tries again, and it would wait for 30 s for one that failed once.
// [RDMA-44]
#[test]
fn what_failed_once_at_the_end_that_answers_is_tried_again_soon() {
    let now = at(50);
    let soon = now + PAUSE_MIN * 5 / 4;
    for why in [Why::NotMade, Why::DeviceGone, Why::Ended(Ended::Lost)] {
        let ([mut first, mut second], _) = offered();
        let step = second.on_made(now, 7, Err(why));
        let Step::GiveUp { word: Some(word), .. } = step else { panic!("{step:?}") };
        assert!(matches!(first.on_word(now, &word, 3), Step::GiveUp { .. }));
        assert!(first.timeout(None).is_some_and(|next| next <= soon), "{why}: {word:?}");
    }
    for why in [Why::NoDevice, Why::PortDown, Why::NoMemory] {
        let ([mut first, mut second], _) = offered();
        let word = Word::Refuse { attempt: 7 };
        let gone = Step::GiveUp { why, word: Some(word) };
        assert_eq!(second.on_made(now, 7, Err(why)), gone);
        let refused = Step::GiveUp { why: Why::Refused, word: None };
        assert_eq!(first.on_word(now, &word, 3), refused);
        assert!(first.timeout(None).is_some_and(|next| next >= now + PAUSE_MAX), "{why}");
    }
}

/// An offer is sent up to five times, and a copy may be overtaken by the word that takes it back.
// [RDMA-41]
#[test]
fn a_late_copy_of_an_offer_that_was_taken_back_does_nothing() {
    let ([_, mut second], offer) = offered();
    let gone = Step::GiveUp { why: Why::PeerEnded, word: None };
    assert_eq!(second.on_word(at(1), &Word::End { attempt: 7 }, 1), gone);
    assert_eq!(second.on_word(at(1000), &offer, 1), Step::Stay);
    let next = Word::Offer { attempt: OTHER, terms: terms(), plain: false };
    assert!(matches!(second.on_word(at(1000), &next, 1), Step::Want(Want::Accept { .. })));
}

/// The peer, which waits, has not heard that this end gave it up.
// [RDMA-41]
#[test]
fn an_offer_that_comes_again_is_taken_where_this_end_alone_gave_it_up() {
    for why in [Why::NotMade, Why::NoDevice] {
        let ([_, mut second], offer) = offered();
        second.on_made(at(1), 7, Err(why));
        assert!(matches!(second.on_word(at(1000), &offer, 1), Step::Want(Want::Accept { .. })));
    }
}

// [RDMA-44]
#[test]
fn another_attempt_comes_after_ever_longer_pauses_and_soon_if_asked() {
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed, Attempts::new(at(0)));
    let (mut now, mut pauses) = (at(0), Vec::new());
    for attempt in 0..10 {
        assert!(matches!(first.on_timeout(now, attempt, None), Step::Want(_)));
        let gone = first.on_made(now, attempt, Err(Why::NoDevice));
        assert_eq!(gone, Step::GiveUp { why: Why::NoDevice, word: None });
        let next = first.timeout(None).expect("it tries again");
        pauses.push(next.since(now).as_millis());
        now = next;
    }
    // Up to a quarter longer.
    let least = [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000];
    assert!(pauses.iter().zip(least).all(|(it, least)| (least..least * 5 / 4).contains(it)));
    first.on_timeout(now, 77, None);
    first.on_made(now, 77, Err(Why::NoDevice));
    first.on_word(now, &Word::Again, 0);
    assert_eq!(first.timeout(None), Some(now + PAUSE_MIN));
}

/// How many attempts begin at an end of which each is ended by the peer, `used` after it carried, and is asked to begin
/// again all the time.
fn begun(role: Role, used: u64, until: u64) -> u32 {
    let mut end = Pairing::new(at(0), role, Trust::Sealed, Attempts::new(at(0)));
    let (mut begun, mut carries_since) = (0, None);
    for millis in (0..until).step_by(5) {
        let now = at(millis);
        end.on_word(now, &Word::Again, 0);
        let offer = Word::Offer { attempt: millis, terms: terms(), plain: false };
        let step = match role {
            Role::Offers => end.on_timeout(now, millis, None),
            Role::Answers if end.has_pair() => Step::Stay,
            Role::Answers => end.on_word(now, &offer, 1),
        };
        match step {
            Step::Want(Want::Open { .. } | Want::Accept { .. }) => {
                begun += 1;
                end.on_made(now, millis, Ok(terms()));
                let accept = Word::Accept { attempt: millis, terms: terms(), plain: false };
                end.on_word(now, &accept, 1);
                end.on_made(now, millis, Ok(terms()));
                end.on_ready(now);
                assert!(end.is_used());
                carries_since = Some(millis);
            }
            step => assert!(matches!(step, Step::Stay | Step::Drop), "{step:?}"),
        }
        if carries_since.is_some_and(|since| millis >= since + used) {
            carries_since = None;
            end.on_word(now, &Word::End { attempt: end.attempt() }, 1);
            assert!(!end.is_used());
        }
    }
    begun
}

// [RDMA-48]
#[test]
fn attempts_do_not_begin_as_often_as_the_peer_asks() {
    for role in [Role::Offers, Role::Answers] {
        for used in [0, 300] {
            let (first, all) = (begun(role, used, 1000), begun(role, used, 600_000));
            assert!((2..=4).contains(&first), "{role:?} {used}: {first}");
            // Two in the longest pause, and those before it is reached.
            assert!((20..=50).contains(&all), "{role:?} {used}: {all}");
        }
    }
}

// [RDMA-44]
#[test]
fn what_served_for_long_may_serve_again_soon() {
    let long = PAUSE_MAX.as_millis() as u64;
    let all = begun(Role::Offers, long, 20 * (long + 300));
    assert!((19..=22).contains(&all), "{all}");
}

// [RDMA-44]
#[test]
fn what_nobody_answers_or_nobody_empties_is_given_up() {
    let mut first = Pairing::new(at(0), Role::Offers, Trust::Sealed, Attempts::new(at(0)));
    first.on_timeout(at(0), 7, None);
    assert!(matches!(first.on_made(at(0), 7, Ok(terms())), Step::Tell(_)));
    let mut offers = 1;
    let last = loop {
        let due = first.timeout(None).expect("it waits for an answer");
        match first.on_timeout(due, 1, None) {
            Step::Tell(_) => offers += 1,
            step => break step,
        }
    };
    let word = Some(Word::End { attempt: 7 });
    assert_eq!((offers, last), (OFFERS, Step::GiveUp { why: Why::Unanswered, word }));
    let [mut first, _] = proving();
    first.on_ready(at(5));
    let (mut looks, mut now) = (0, at(10));
    let last = loop {
        first.set_blocked(now, Blocked::Yes);
        // However late it looks.
        now = first.timeout(None).expect("it waits for room") + Duration::from_secs(looks % 2);
        match first.on_timeout(now, 1, None) {
            Step::Stay => looks += 1,
            step => break step,
        }
    };
    assert_eq!((looks, last), (10, Step::GiveUp { why: Why::Stalled, word }));
}
