//! One replay of a plan on one system: what it took, and how long messages waited.
//!
//! Unhurried, messages with a cause outside are sent at their time by a thread of its own; hurried, all
//! at once. A message's latency is the time until its handler has finished: from the moment at which it was due, if its
//! cause lies outside, and else from its sending. If the thread that sends comes late, since others have its core,
//! messages wait meanwhile as they would anywhere else, and that is to be seen.

use super::trace::Plan;
use crate::ours::{Setting, block_on};
use crate::stats;
use crate::usage::Used;
use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::{Countdown, Ticket};
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a replay found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Messages per second, hurried.
    pub(super) per_second: f64,
    /// Quantiles of the latency, unhurried: p50, p99, p99.9 and the longest.
    pub(super) latency_ns: [f64; 4],
    /// How much of it messages waited for the thread that sends, unhurried: the p99.
    pub(super) late_ns: f64,
    /// Processor time of one message, unhurried, without the thread that sends.
    pub(super) cpu_ns: f64,
    /// How often a thread was switched to, for one message, unhurried.
    pub(super) switches: f64,
}

impl Found {
    /// As one line, for the process that waits for it.
    pub(super) fn line(&self) -> String {
        let [p50, p99, p999, most] = self.latency_ns;
        let Self { per_second, late_ns, cpu_ns, switches, .. } = self;
        format!("{per_second} {p50} {p99} {p999} {most} {late_ns} {cpu_ns} {switches}")
    }

    /// The reverse.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let values: Vec<f64> = line.split_whitespace().flat_map(str::parse).collect();
        let [per_second, p50, p99, p999, most, late_ns, cpu_ns, switches] = values[..] else {
            return None;
        };
        Some(Self { per_second, latency_ns: [p50, p99, p999, most], late_ns, cpu_ns, switches })
    }
}

#[derive(Debug)]
struct Stage {
    plan: Plan,
    actors: OnceLock<Vec<Ref<Player>>>,
}

impl Stage {
    fn actor(&self, number: u32) -> &Ref<Player> {
        let actors = self.actors.get().expect("the actors are known before a message is sent");
        &actors[number as usize]
    }

    fn send(&self, job: u32, since: Instant) {
        let receiver = self.actor(self.plan.jobs[job as usize].receiver);
        receiver.handle(job, since).tell().expect("the actor lives");
    }
}

#[derive(Actor)]
struct Player {
    stage: Arc<Stage>,
    latencies: Vec<f64>,
    /// How many messages are still to come.
    left: usize,
    /// Goes when the last of them was handled.
    ticket: Option<Ticket>,
}

#[handlers]
impl Player {
    #[start]
    fn start(stage: Arc<Stage>, ticket: Ticket, left: usize) -> Self {
        let ticket = (left > 0).then_some(ticket);
        Self { stage, latencies: Vec::with_capacity(left), left, ticket }
    }

    #[tell]
    fn send(&mut self, job: u32, since: Instant) {
        self.stage.send(job, since);
    }

    #[tell]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn handle(&mut self, job: u32, since: Instant) {
        let stage = Arc::clone(&self.stage);
        let job = &stage.plan.jobs[job as usize];
        let clock = Instant::now();
        let work = Duration::from_secs_f64(job.work_us / 1e6);
        while clock.elapsed() < work {
            std::hint::spin_loop();
        }
        job.then.iter().for_each(|&next| stage.send(next, Instant::now()));
        self.latencies.push(since.elapsed().as_nanos() as f64);
        self.left -= 1;
        if self.left == 0 {
            self.ticket = None;
        }
    }

    #[ask]
    fn latencies(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.latencies)
    }
}

/// Replays `plan` twice with `setting`, in this process.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(super) fn replay(plan: &Plan, setting: &Setting) -> Found {
    let count = plan.jobs.len() as f64;
    let hurried = once(plan, &setting.system(), Pace::Hurried);
    let calm = once(plan, &setting.system(), Pace::AsRecorded);
    Found {
        per_second: count / hurried.took.as_secs_f64(),
        latency_ns: [0.5, 0.99, 0.999, 1.0].map(|share| stats::quantile(&calm.latencies, share)),
        late_ns: stats::quantile(&calm.late, 0.99),
        cpu_ns: calm.used.nanos as f64 / count,
        switches: calm.used.switches as f64 / count,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    AsRecorded,
    Hurried,
}

struct Once {
    took: Duration,
    used: Used,
    latencies: Vec<f64>,
    /// How late each message was sent; those that follow from others never are.
    late: Vec<f64>,
}

fn once(plan: &Plan, system: &System, pace: Pace) -> Once {
    let mut due = vec![0; plan.actors as usize];
    plan.jobs.iter().for_each(|job| due[job.receiver as usize] += 1);
    let stage = Arc::new(Stage { plan: plan.clone(), actors: OnceLock::new() });
    let countdown = Countdown::new(u64::from(plan.actors));
    block_on(async {
        let mut actors = Vec::new();
        for left in due {
            let args = (Arc::clone(&stage), countdown.ticket(), left);
            actors.push(system.spawn::<Player>(args).await.expect("an actor starts"));
        }
        stage.actors.set(actors.clone()).expect("the stage is new");
        let before = Used::by_process().unwrap_or_default();
        let mine = Used::by_thread().unwrap_or_default();
        let clock = Instant::now();
        let mut late = drive(&stage, pace, clock);
        late.resize(plan.jobs.len(), 0.0);
        let mine = minus(Used::by_thread().unwrap_or_default(), mine);
        countdown.done.await.expect("every message is handled");
        let took = clock.elapsed();
        let used = minus(minus(Used::by_process().unwrap_or_default(), before), mine);
        let mut latencies = Vec::with_capacity(plan.jobs.len());
        for actor in actors {
            latencies.extend(actor.latencies().await.expect("the actor answers"));
        }
        assert_eq!(latencies.len(), plan.jobs.len(), "every message was handled once");
        system.shutdown(Duration::from_secs(10)).await.expect("the actors stop");
        Once { took, used, latencies, late }
    })
}

/// So long before a message is due the thread that sends sleeps no more: a kernel wakes it up to some 50 µs too late.
const AWAKE: Duration = Duration::from_micros(100);

/// Sends what has its cause outside. Returns how late each was, in nanoseconds; hurried, nothing is due at any time.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn drive(stage: &Stage, pace: Pace, clock: Instant) -> Vec<f64> {
    let mut late = Vec::with_capacity(stage.plan.roots.len());
    for &(time_us, job, sender) in &stage.plan.roots {
        let due = match pace {
            Pace::AsRecorded => {
                let due = clock + Duration::from_secs_f64(time_us / 1e6);
                wait_until(due);
                late.push(due.elapsed().as_nanos() as f64);
                due
            }
            // It would send less quickly if it looked at the clock.
            Pace::Hurried => clock,
        };
        match sender {
            Some(actor) => stage.actor(actor).send(job, due).tell().expect("the actor lives"),
            None => stage.send(job, due),
        }
    }
    late
}

fn wait_until(due: Instant) {
    if let Some(long) = due.saturating_duration_since(Instant::now()).checked_sub(AWAKE) {
        sleep(long);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}

fn minus(left: Used, right: Used) -> Used {
    Used {
        nanos: left.nanos.saturating_sub(right.nanos),
        switches: left.switches.saturating_sub(right.switches),
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::{Plan, parse};
    use super::{Found, Once, Pace, once, replay};
    use crate::ours::SETTINGS;
    use crate::stats::quantile;

    #[test]
    fn what_was_found_travels_as_a_line() {
        let found = Found {
            per_second: 1e6,
            latency_ns: [1.0, 2.5, 3.0, 4.0],
            late_ns: 0.5,
            cpu_ns: 80.0,
            switches: 0.25,
        };
        assert_eq!(Found::parse(&found.line()), Some(found));
        assert_eq!(Found::parse("1 2 3"), None);
    }

    #[test]
    fn every_scheduler_handles_a_trace_to_its_end() {
        let trace = "0,-,a,1\n5,a,b,0\n9,b,a,1\n2000,c,a,1\n2001,-,c,0\n";
        let plan = Plan::new(parse(trace).unwrap());
        for setting in SETTINGS {
            let found = replay(&plan, setting);
            assert!(found.per_second > 0.0, "{}: {found:?}", setting.who);
            assert!(found.latency_ns[0] <= found.latency_ns[3], "{}: {found:?}", setting.who);
        }
    }

    #[test]
    fn a_message_waits_from_the_moment_at_which_it_is_due() {
        // All at once, which nobody can send at once.
        let trace: String = (0..20_000).map(|at| format!("0,-,{},0\n", at % 64)).collect();
        let plan = Plan::new(parse(&trace).unwrap());
        for setting in SETTINGS {
            let Once { latencies, late, .. } = once(&plan, &setting.system(), Pace::AsRecorded);
            for share in [0.5, 0.99, 1.0] {
                let [waited, late] = [&latencies, &late].map(|all| quantile(all, share));
                assert!(waited >= late, "{}: {waited} of {late} ns", setting.who);
            }
        }
    }
}
