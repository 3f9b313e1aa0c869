use super::{Climb, HOLD_MAX, HOLD_MIN, Order, RELIEF, RELIEF_AGAIN, Report, WINDOW, WINDOWS};
use crate::time::Time;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use std::time::Duration;

/// A program that handles so many messages in a millisecond with one worker on duty, with two, and so on.
struct Program {
    rates: Vec<u64>,
    climb: Climb,
    now: Time,
    /// Since the last order; messages in thousandths.
    since: Time,
    handled: u64,
    slept: u64,
    /// Of a thousand microseconds how many those on duty sleep.
    sleeps: u64,
    on_duty: usize,
    due: Time,
    /// Time with so many workers on duty, in microseconds.
    spent: Vec<u64>,
    /// Whether those on duty have more than they can do.
    wants: bool,
}

impl Program {
    fn new(rates: &[u64]) -> Self {
        Self {
            rates: rates.to_vec(),
            climb: Climb::new(rates.len()),
            now: Time(1),
            since: Time(1),
            handled: 0,
            slept: 0,
            sleeps: 0,
            on_duty: 1,
            due: Time(0),
            spent: vec![0; rates.len()],
            wants: true,
        }
    }

    /// Goes on until a report is due, and for the `late` microseconds that a slice may last beyond.
    fn step(&mut self, late: u64) {
        let micros = self.due.since(self.now).as_micros() as u64 + late;
        self.now = self.now.after(Duration::from_micros(micros));
        self.handled += micros * self.rates[self.on_duty - 1];
        self.spent[self.on_duty - 1] += micros;
        self.slept += micros * self.sleeps * self.on_duty as u64;
        let order = self.climb.report(self.report());
        self.obey(order);
    }

    fn report(&self) -> Report {
        let (now, slept, wanted) = (self.now, self.slept, self.wants);
        let span = now.since(self.since);
        Report { now, span, handled: self.handled / 1000, slept, wanted }
    }

    fn obey(&mut self, order: Order) {
        if !order.counts_on {
            (self.since, self.handled, self.slept) = (self.now, 0, 0);
        }
        assert!((1..=self.rates.len()).contains(&order.on_duty), "{order:?}");
        assert!(order.due > self.now, "{order:?}");
        (self.on_duty, self.due) = (order.on_duty, order.due);
    }

    fn run(&mut self, span: Duration) {
        let end = self.now.after(span);
        while self.now < end {
            self.step(50);
        }
    }

    /// The number of workers that most of the time was spent with since this was asked last.
    fn prevailing(&mut self) -> usize {
        let spent = std::mem::replace(&mut self.spent, vec![0; self.rates.len()]);
        (1..=spent.len()).max_by_key(|workers| spent[workers - 1]).unwrap_or(0)
    }
}

#[test]
fn a_program_that_one_worker_runs_best_is_left_to_one() {
    let mut program = Program::new(&[100_000, 25_000]);
    program.run(Duration::from_secs(10));
    let worse = program.spent[1];
    assert!(worse > 0, "nothing was tried");
    assert!(worse < 200_000, "a fiftieth of the time, and not {worse} us");
}

#[test]
fn a_program_that_more_workers_run_faster_soon_has_them_all() {
    let mut program = Program::new(&[10_000, 20_000, 30_000, 40_000]);
    program.run(Duration::from_millis(40));
    assert_eq!(program.on_duty, 4);
    program.prevailing();
    program.run(Duration::from_secs(10));
    assert_eq!(program.prevailing(), 4);
    assert!(program.spent.iter().take(3).sum::<u64>() < 400_000, "{:?}", program.spent);
}

#[test]
fn who_wants_no_help_is_never_given_any() {
    let mut program = Program::new(&[10_000, 20_000]);
    program.wants = false;
    program.run(Duration::from_secs(2));
    assert_eq!(program.spent[1], 0);
}

#[test]
fn what_changes_is_noticed() {
    let mut program = Program::new(&[100_000, 50_000]);
    program.run(Duration::from_secs(5));
    program.rates = vec![10_000, 20_000];
    program.run(HOLD_MAX + WINDOW * 10);
    program.prevailing();
    program.run(Duration::from_millis(100));
    assert_eq!(program.prevailing(), 2);
    program.rates = vec![100_000, 50_000];
    program.run(HOLD_MAX + WINDOW * 10);
    program.prevailing();
    program.run(Duration::from_millis(100));
    assert_eq!(program.prevailing(), 1);
}

#[test]
fn who_has_time_to_sleep_has_help_with_messages_that_are_worth_it() {
    // Half of the time, one worker would do, and two handle no more. Messages take 5 us, or 50 ns.
    for (rate, best) in [(100, 2), (10_000, 1)] {
        let mut program = Program::new(&[rate, rate]);
        program.sleeps = 500;
        program.run(Duration::from_millis(10));
        assert_eq!(program.on_duty, best, "{rate}");
        program.prevailing();
        program.run(Duration::from_secs(5));
        assert!(program.spent[2 - best] < 200_000, "{rate} {:?}", program.spent);
    }
}

/// Has so many messages come at once, and then nothing for 18 ms. Who sleeps reports nothing.
fn burst(program: &mut Program, messages: u64) {
    let mut left = messages * 1000;
    while left > 0 {
        let handled = left.min(50 * program.rates[program.on_duty - 1]);
        left -= handled;
        program.handled += handled;
        program.now = program.now.after(Duration::from_micros(50));
        if program.now >= program.due {
            let order = program.climb.report(program.report());
            program.obey(order);
        }
    }
    program.now = program.now.after(Duration::from_millis(18));
    program.slept += 18_000_000 * program.on_duty as u64;
}

#[test]
fn bursts_have_more_workers_if_their_messages_are_worth_it() {
    for (messages, rates, best) in
        [(100, [50, 100], 2), (30, [50, 100], 2), (10_000, [20_000, 9000], 1)]
    {
        let mut program = Program::new(&rates);
        (0..100).for_each(|_| burst(&mut program, messages));
        assert_eq!(program.climb.kept, best, "{messages} of {rates:?}");
        program.climb.kept = 3 - best;
        (0..100).for_each(|_| burst(&mut program, messages));
        assert_eq!(program.climb.kept, best, "{messages} of {rates:?} once more");
    }
}

#[test]
fn a_program_that_comes_to_have_time_to_sleep_is_judged_anew() {
    let mut program = Program::new(&[100, 200]);
    program.run(Duration::from_secs(1));
    assert_eq!(program.climb.kept, 2);
    (program.rates, program.sleeps) = (vec![10_000, 10_000], 900);
    program.run(HOLD_MAX * 2);
    assert_eq!(program.climb.kept, 1);
}

#[test]
fn messages_too_few_to_compare_are_long_ones() {
    // Of 40 us each, and then of 5 ms.
    for rates in [[25, 50], [1, 1]] {
        let mut program = Program::new(&rates);
        program.run(HOLD_MIN * 4);
        assert_eq!(program.climb.kept, 2, "{rates:?}");
    }
}

#[test]
fn all_are_on_duty_while_messages_are_long() {
    let mut program = Program::new(&[100_000, 50_000]);
    program.run(Duration::from_secs(1));
    for _ in 0..100 {
        let order = program.climb.spread(program.now);
        assert_eq!(order.on_duty, 2);
        program.obey(order);
        program.now = program.now.after(HOLD_MIN / 2);
        let order = program.climb.report(program.report());
        assert_eq!(order.on_duty, 2, "said again before it is over");
    }
    program.run(HOLD_MIN + WINDOW * 10);
    assert_eq!(program.climb.kept, 1, "and then it is tried again");
}

/// Has those on duty get stuck; returns when.
fn get_stuck(program: &mut Program) -> Time {
    let order = program.climb.relieve(program.now);
    assert_eq!(order.on_duty, program.rates.len());
    program.obey(order);
    program.now
}

#[test]
fn relief_is_over_soon_and_brings_no_trial_nearer() {
    let mut program = Program::new(&[100_000, 50_000]);
    program.run(Duration::from_secs(5));
    let before = program.climb.next;
    let stuck_at = get_stuck(&mut program);
    assert_eq!(program.due, stuck_at.after(RELIEF));
    program.step(0);
    assert_eq!(program.on_duty, 1);
    assert!(program.climb.next >= before);
    assert_eq!(program.climb.kept, 1);
}

#[test]
fn who_gets_stuck_again_and_again_has_all_on_duty() {
    let mut program = Program::new(&[100_000, 50_000]);
    program.run(Duration::from_secs(5));
    let stuck_at = get_stuck(&mut program);
    program.now = stuck_at.after(RELIEF_AGAIN / 2);
    get_stuck(&mut program);
    assert_eq!(program.climb.kept, 2);
}

#[test]
fn a_trial_in_which_somebody_gets_stuck_is_lost() {
    let mut program = Program::new(&[100_000, 200_000]);
    program.run(Duration::from_secs(1));
    while program.on_duty == 2 {
        program.step(0);
    }
    let hold = program.climb.hold;
    get_stuck(&mut program);
    assert_eq!(program.climb.kept, 2);
    assert_eq!(program.climb.hold, (hold * 2).min(HOLD_MAX));
    program.spent = vec![0, 0];
    program.run(program.climb.hold / 2);
    assert_eq!(program.spent[0], 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the rates, nearly all time is spent with a number of workers that no neighbour beats by more
    /// than the sixteenth that it takes to change; and each trial ends.
    #[test]
    fn most_time_is_spent_where_no_step_is_better(
        rates in proptest::collection::vec(100_u64..100_000, 2..9),
        late in 0_u64..200,
    ) {
        let mut program = Program::new(&rates);
        for _ in 0..4000 {
            program.step(late);
        }
        program.prevailing();
        for _ in 0..1000 {
            program.step(late);
        }
        let kept = program.prevailing();
        let rate = rates[kept - 1];
        for other in [(kept * 2).min(rates.len()), (kept / 2).max(1)] {
            let better = rates[other - 1];
            prop_assert!(better <= rate + rate / 8, "{kept} {rates:?}");
        }
        prop_assert!(program.climb.trial.as_ref().is_none_or(|trial| trial.count < WINDOWS));
        prop_assert_eq!(program.climb.kept, kept);
    }
}
