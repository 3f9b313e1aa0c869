use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const LANES: u16 = 3;

#[derive(Clone, Debug)]
enum Step {
    Greet(u64),
    Down(u64),
    /// The worker of a lane looks whether it has to let go.
    Retire(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..6_u64).prop_map(Step::Greet),
        1 => (0..6_u64).prop_map(Step::Down),
        3 => (0..LANES).prop_map(Step::Retire),
    ]
}

proptest! {
    /// Whatever the order of handshakes, deaths and workers: what is over does not come back, each that
    /// was open goes down once, and never is a newer one seen while a worker holds an older one.
    // [LINK-75] [LINK-76]
    #[test]
    fn one_at_a_time_and_never_again(steps in prop::collection::vec(step(), 0..120)) {
        let mut peers = Peers::new(LANES, 64);
        let (mut open, mut over, mut down) = (None, BTreeSet::new(), BTreeSet::new());
        // What each lane's worker still delivers messages of.
        let mut holds = [None; LANES as usize];
        for step in steps {
            match step {
                Step::Greet(number) => match peers.greet("n", Incarnation(number)) {
                    Greeting::Opened => {
                        prop_assert!(!over.contains(&number), "{number} is back");
                        prop_assert_eq!(open.replace(number), None);
                        prop_assert_eq!(holds, [None; LANES as usize]);
                        holds = [Some(number); LANES as usize];
                    }
                    Greeting::Known => prop_assert_eq!(open, Some(number)),
                    Greeting::Replaces(Incarnation(older)) => {
                        prop_assert_eq!(open.take(), Some(older));
                        prop_assert!(!over.contains(&number));
                        over.insert(older);
                    }
                    Greeting::Waits => prop_assert!(!over.contains(&number)),
                    Greeting::Quarantined => {}
                },
                Step::Down(number) => {
                    let was_open = peers.down(&"n", Incarnation(number));
                    prop_assert_eq!(was_open, open == Some(number));
                    if was_open {
                        open = None;
                        over.insert(number);
                    }
                }
                Step::Retire(lane) => {
                    let held = holds[usize::from(lane)];
                    let Some(held) = held.filter(|held| over.contains(held)) else { continue };
                    holds[usize::from(lane)] = None;
                    for change in peers.retired(&"n", Incarnation(held), lane) {
                        match change {
                            Change::NodeDown(Incarnation(number)) => {
                                prop_assert_eq!(number, held);
                                prop_assert!(down.insert(number), "{number} goes down twice");
                                prop_assert_eq!(holds, [None; LANES as usize], "too early");
                            }
                            Change::Opened(Incarnation(number)) => {
                                prop_assert!(!over.contains(&number), "{number} is back");
                                prop_assert_eq!(holds, [None; LANES as usize], "too early");
                                open = Some(number);
                                holds = [Some(number); LANES as usize];
                            }
                        }
                    }
                }
            }
            for number in 0..6 {
                let is_open = peers.is_open(&"n", Incarnation(number));
                prop_assert_eq!(is_open, open == Some(number));
            }
        }
    }
}

// [LINK-75]
#[test]
fn of_many_lives_the_latest_are_remembered() {
    let mut peers = Peers::new(1, 4);
    for number in 0..100 {
        assert_eq!(peers.greet(7, Incarnation(number)), Greeting::Opened);
        assert!(peers.down(&7, Incarnation(number)));
        assert!(!peers.down(&7, Incarnation(number)), "once");
        let changes: Vec<_> = peers.retired(&7, Incarnation(number), 0).collect();
        assert_eq!(changes, [Change::NodeDown(Incarnation(number))]);
        for old in number.saturating_sub(3)..=number {
            assert_eq!(peers.greet(7, Incarnation(old)), Greeting::Quarantined);
        }
    }
}
