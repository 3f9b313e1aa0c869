use super::{IN_VAIN_MAX, LOOK, Look, Looking, Looks, WITHOUT};
use crate::time::Time;
use proptest::prelude::*;

const NOW: Time = Time(1_000);

/// What comes of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Soon,
    Late,
    /// An error, or its deadline.
    Given,
}

/// Asks once; whether the thread looked.
fn asks(looks: &Looks, outcome: Outcome) -> bool {
    let mut look = looks.begin(NOW);
    let looked = look.goes_on(NOW);
    match outcome {
        Outcome::Soon => look.helped(),
        Outcome::Late => assert!(!look.goes_on(NOW.after(LOOK)), "it sleeps in the end"),
        Outcome::Given => {}
    }
    looked
}

#[test]
fn who_looks_in_vain_stops_and_tries_again_now_and_then() {
    for vain in [Outcome::Late, Outcome::Given] {
        let looks = Looks::new(Looking::WhereItHelps);
        let ask = |outcome| asks(&looks, outcome);
        assert!((0..IN_VAIN_MAX).all(|_| ask(vain)));
        for _ in 0..2 {
            assert!((0..WITHOUT).all(|_| !ask(vain)), "it was in vain all the time");
            assert!(ask(vain), "it may help by now");
        }
        assert!((0..WITHOUT).all(|_| !ask(Outcome::Soon)), "nobody looked, so nobody knows");
        assert!(ask(Outcome::Soon) && ask(Outcome::Soon), "it helps again");
        assert!((0..IN_VAIN_MAX).all(|_| ask(vain)), "all is forgotten");
        assert!(!ask(vain));
    }
}

#[test]
fn one_looks_at_a_time() {
    let looks = Looks::new(Looking::WhereItHelps);
    let mut first = looks.begin(NOW);
    assert!(first.goes_on(NOW), "it looks for a while");
    assert!(!looks.begin(NOW).goes_on(NOW), "somebody looks");
    assert!(first.goes_on(NOW), "whatever others do meanwhile");
    assert!(!first.goes_on(NOW.after(LOOK)));
    assert!(looks.begin(NOW).goes_on(NOW), "the first one sleeps");
}

#[test]
fn who_is_told_how_long_looks_so_long_whoever_else_does() {
    let all = Looks::new(Looking::For(2 * LOOK));
    let mut looks: [Look<'_>; 2] = [all.begin(NOW), all.begin(NOW)];
    assert!(looks.iter_mut().all(|look| look.goes_on(NOW.after(LOOK))));
    assert!(looks.iter_mut().all(|look| !look.goes_on(NOW.after(2 * LOOK))));
}

proptest! {
    #[test]
    fn few_looks_are_in_vain(
        outcomes in prop::collection::vec(
            prop_oneof![1 => Just(Outcome::Soon), 6 => Just(Outcome::Late), 3 => Just(Outcome::Given)],
            0..600,
        ),
    ) {
        let looks = Looks::new(Looking::WhereItHelps);
        let (mut in_vain, mut found) = (0, 0);
        for outcome in &outcomes {
            let looked = u32::from(asks(&looks, *outcome));
            if *outcome == Outcome::Soon { found += looked } else { in_vain += looked }
        }
        prop_assert!(in_vain <= IN_VAIN_MAX * (found + 1) + outcomes.len() as u32 / WITHOUT);
    }
}
