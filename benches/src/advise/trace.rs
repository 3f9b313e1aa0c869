//! Recorded arrivals: who sent when to whom, and how long it was worked on.
//!
//! A trace is text, one message per line: `time_us,sender,receiver,work_us`. `time_us` counts from any
//! moment, `work_us` is what the handler takes; both may have a fraction. A sender `-` stands for
//! everything outside the actors. Empty lines, lines that start with `#` and a heading are skipped.
//!
//! A replay needs to know why a message was sent. One that an actor sends at most [`CAUSE_US`] after it
//! could have finished one that it received counts as that one's consequence, and is sent again when
//! that one is handled. Every other message has a cause outside and keeps its time.

use std::collections::BTreeMap;
use std::time::Duration;

/// How long after a message an actor may send another one because of it.
pub(super) const CAUSE_US: f64 = 1_000.0;

/// Messages that a trace may have.
const MESSAGES_MAX: usize = 2_000_000;

/// One message of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    /// When it was sent.
    pub(super) time_us: f64,
    /// By which actor; `None` from outside.
    pub(super) sender: Option<u32>,
    /// To which actor.
    pub(super) receiver: u32,
    /// How long its handler worked.
    pub(super) work_us: f64,
}

/// What a replay does for one message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Job {
    /// Who handles it.
    pub(super) receiver: u32,
    /// For how long.
    pub(super) work_us: f64,
    /// What its receiver sends then.
    pub(super) then: Vec<u32>,
}

/// A trace made ready for a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// How many actors it has.
    pub(super) actors: u32,
    /// Every message.
    pub(super) jobs: Vec<Job>,
    /// Those whose cause lies outside: when, which job, and which actor sends it, if any does.
    pub(super) roots: Vec<(f64, u32, Option<u32>)>,
}

/// Reads a trace. Actors get numbers in the order in which they appear.
///
/// # Errors
/// A sentence with the number of the line that cannot be understood.
pub(super) fn parse(text: &str) -> Result<Vec<Message>, String> {
    let mut names = BTreeMap::new();
    let mut messages = Vec::new();
    let lines = text.lines().map(str::trim).enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        if fields.first() == Some(&"time_us") {
            continue;
        }
        let wrong = |what: &str| format!("line {}: {what}: {line}", at + 1);
        let [time, sender, receiver, work] = fields[..] else {
            return Err(wrong("needs time_us,sender,receiver,work_us"));
        };
        let micros = |text: &str| {
            let value: f64 = text.parse().map_err(|_| wrong("not a number"))?;
            let fits = value.is_finite() && (0.0..1e12).contains(&value);
            fits.then_some(value).ok_or_else(|| wrong("out of range"))
        };
        if receiver == "-" || receiver.is_empty() || sender.is_empty() {
            return Err(wrong("somebody has no name"));
        }
        let mut number = |name: &str| {
            let next = u32::try_from(names.len()).map_err(|_| wrong("too many actors"))?;
            Ok::<u32, String>(*names.entry(name.to_owned()).or_insert(next))
        };
        let sender = if sender == "-" { None } else { Some(number(sender)?) };
        let receiver = number(receiver)?;
        messages.push(Message { time_us: micros(time)?, sender, receiver, work_us: micros(work)? });
        if messages.len() > MESSAGES_MAX {
            return Err(wrong("too many messages"));
        }
    }
    if messages.is_empty() { Err("the trace has no message".into()) } else { Ok(messages) }
}

impl Plan {
    /// How long two replays take one after the other, one of which is hurried, where one worker does all of the work.
    pub(super) fn takes(&self) -> Duration {
        let work_us: f64 = self.jobs.iter().map(|job| job.work_us).sum();
        let recorded_us = self.roots.last().map_or(0.0, |(time_us, ..)| *time_us);
        Duration::from_secs_f64((work_us + work_us.max(recorded_us)) / 1e6)
    }

    /// Finds the cause of every message.
    #[must_use]
    pub(super) fn new(mut messages: Vec<Message>) -> Self {
        messages.sort_by(|a, b| a.time_us.total_cmp(&b.time_us));
        let start = messages.first().map_or(0.0, |message| message.time_us);
        let mut plan = Self::default();
        // The last message that each actor received: when it was done at the earliest, and which job.
        let mut last: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        for (message, number) in messages.iter().zip(0_u32..) {
            let most = message.receiver.max(message.sender.unwrap_or(0));
            plan.actors = plan.actors.max(most + 1);
            let cause = message.sender.and_then(|sender| last.get(&sender));
            match cause.filter(|(done, _)| message.time_us <= done + CAUSE_US) {
                Some(&(_, cause)) => plan.jobs[cause].then.push(number),
                None => plan.roots.push((message.time_us - start, number, message.sender)),
            }
            let done = message.time_us + message.work_us;
            last.insert(message.receiver, (done, plan.jobs.len()));
            let (receiver, work_us) = (message.receiver, message.work_us);
            plan.jobs.push(Job { receiver, work_us, then: Vec::new() });
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, parse};

    #[test]
    fn a_trace_is_read() {
        let text =
            "# a comment\ntime_us,sender,receiver,work_us\n\n0,-,book,2.5\n 10 , book , feed , 1\n";
        let messages = parse(text).unwrap();
        assert_eq!(messages.len(), 2);
        assert_eq!((messages[0].sender, messages[0].receiver), (None, 0));
        assert_eq!((messages[1].sender, messages[1].receiver), (Some(0), 1));
        assert!((messages[0].work_us - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for line in ["1,a,b", "x,a,b,1", "1,a,-,1", "1,,b,1", "1,a,b,-1", "1,a,b,inf", "1,a,b,1,2"]
        {
            let error = parse(&format!("# first\n{line}\n")).unwrap_err();
            assert!(error.starts_with("line 2: "), "{error}");
        }
        assert!(parse("").is_err());
    }

    #[test]
    fn consequences_follow_their_cause() {
        let text = "100,-,a,5\n120,a,b,5\n130,b,a,5\n5000,a,b,1\n";
        let plan = Plan::new(parse(text).unwrap());
        assert_eq!(plan.actors, 2);
        assert_eq!(plan.roots, [(0.0, 0, None), (4900.0, 3, Some(0))]);
        let then: Vec<_> = plan.jobs.iter().map(|job| job.then.clone()).collect();
        assert_eq!(then, [vec![1], vec![2], vec![], vec![]]);
    }

    #[test]
    fn a_replay_takes_as_long_as_it_was_recorded_or_worked_on() {
        let seconds = |text: &str| Plan::new(parse(text).unwrap()).takes().as_secs_f64();
        let almost = |one: f64, other: f64| (one - other).abs() < 1e-6;
        assert!(almost(seconds("7e6,-,a,0\n9e6,-,a,5e5\n"), 2.5), "two seconds lie between them");
        assert!(almost(seconds("0,-,a,3e6\n1e6,-,a,1e6\n"), 8.0), "work that piles up");
    }

    #[test]
    fn lines_may_stand_in_any_order() {
        let sorted = Plan::new(parse("0,-,a,1\n9,-,a,2\n").unwrap());
        let mixed = Plan::new(parse("9,-,a,2\n0,-,a,1\n").unwrap());
        assert_eq!(sorted, mixed);
    }
}
