use super::{Climb, HOLD_MAX, HOLD_MIN, RELIEF, Report, WINDOW, WINDOWS};
use crate::time::Time;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use std::time::Duration;

/// A program that handles so many messages in a microsecond with one worker on duty, with two, and so on.
struct Program {
    rates: Vec<u64>,
    climb: Climb,
    now: Time,
    handled: u64,
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
            handled: 0,
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
        let report = Report { now: self.now, handled: self.handled, wanted: self.wants };
        let order = self.climb.report(report);
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
    let mut program = Program::new(&[100, 25]);
    program.run(Duration::from_secs(10));
    let worse = program.spent[1];
    assert!(worse > 0, "nothing was tried");
    assert!(worse < 200_000, "a fiftieth of the time, and not {worse} us");
}

#[test]
fn a_program_that_more_workers_run_faster_soon_has_them_all() {
    let mut program = Program::new(&[10, 20, 30, 40]);
    program.run(Duration::from_millis(40));
    assert_eq!(program.on_duty, 4);
    program.prevailing();
    program.run(Duration::from_secs(10));
    assert_eq!(program.prevailing(), 4);
    assert!(program.spent.iter().take(3).sum::<u64>() < 400_000, "{:?}", program.spent);
}

#[test]
fn who_wants_no_help_is_never_given_any() {
    let mut program = Program::new(&[10, 20]);
    program.wants = false;
    program.run(Duration::from_secs(2));
    assert_eq!(program.spent[1], 0);
}

#[test]
fn what_changes_is_noticed() {
    let mut program = Program::new(&[100, 50]);
    program.run(Duration::from_secs(5));
    program.rates = vec![10, 20];
    program.run(HOLD_MAX + WINDOW * 10);
    program.prevailing();
    program.run(Duration::from_millis(100));
    assert_eq!(program.prevailing(), 2);
    program.rates = vec![100, 50];
    program.run(HOLD_MAX + WINDOW * 10);
    program.prevailing();
    program.run(Duration::from_millis(100));
    assert_eq!(program.prevailing(), 1);
}

#[test]
fn windows_in_which_workers_slept_decide_nothing() {
    let mut program = Program::new(&[10, 1000]);
    for _ in 0..50 {
        program.step(4000);
    }
    assert!(program.spent[1] < program.spent[0]);
    assert_eq!(program.prevailing(), 1);
}

#[test]
fn all_are_on_duty_while_messages_are_long() {
    let mut program = Program::new(&[100, 50]);
    program.run(Duration::from_secs(1));
    for _ in 0..100 {
        let order = program.climb.spread(program.now);
        assert_eq!(order.on_duty, 2);
        (program.on_duty, program.due) = (order.on_duty, order.due);
        program.now = program.now.after(HOLD_MIN / 2);
        let report = Report { now: program.now, handled: program.handled, wanted: true };
        assert_eq!(program.climb.report(report).on_duty, 2, "said again before it is over");
    }
    program.run(HOLD_MIN + WINDOW * 10);
    assert_eq!(program.climb.kept, 1, "and then it is tried again");
}

#[test]
fn relief_is_over_soon_and_brings_no_trial_nearer() {
    let mut program = Program::new(&[100, 50]);
    program.run(Duration::from_secs(5));
    program.prevailing();
    let before = program.climb.next;
    program.step(0);
    let order = program.climb.relieve(program.now);
    assert_eq!((order.on_duty, order.due), (2, program.now.after(RELIEF)));
    (program.on_duty, program.due) = (order.on_duty, order.due);
    program.step(0);
    assert_eq!(program.on_duty, 1);
    assert!(program.climb.next >= before);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the rates, nearly all time is spent with a number of workers that no neighbour beats by more
    /// than the sixteenth that it takes to change; and each trial ends.
    #[test]
    fn most_time_is_spent_where_no_step_is_better(
        rates in proptest::collection::vec(10_u64..1000, 2..9),
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
