//! Every scheduler in simulated worlds: no message lost or doubled, each sender's in order, one handler of
//! an actor at a time; and the same seed gives the same world in every process.
//!
//! `GREENROOM_SEEDS` says how many seeds each workload gets under each scheduler.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Ledger, Parcel, SCHEDULINGS, Scheduling, Violations, scheduled};
use crate::{crashes, supervision};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, MigrateError, Ref, Scheduler, System, handlers};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Seeds for each workload and scheduler, unless the environment says more.
const SEEDS: u64 = 20;
/// Seeds whose traces two processes compare, of each workload under each scheduler.
const COMPARED: u64 = 100;
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);
/// Members of a stage.
const MEMBERS: usize = 5;
/// What a world chooses of those who end or move.
const PICKS: usize = 8;
/// Parcels that a world sends at most.
const PARCELS_MAX: usize = 2000;

/// Sends to others, and checks what it gets.
#[derive(Actor)]
#[actor(mailbox = bounded(64), restart = permanent(100 in "10s"))]
struct Member {
    desk: Desk,
    /// Tokens that it has handed on.
    handed: u64,
    /// Whether a handler is in the middle of something.
    busy: bool,
}

/// What goes round a ring.
#[derive(Debug)]
struct Token {
    from: usize,
    /// How many its sender has handed on before.
    number: u64,
    hops: u32,
}

/// What a member starts with, each time.
#[derive(Clone)]
struct Desk {
    me: usize,
    ledger: Arc<Ledger>,
    violations: Violations,
    /// Whether numbers may be missing, because members come and go.
    gaps: bool,
    /// The next number from each sender, of all incarnations.
    due: Arc<Mutex<[u64; MEMBERS + 1]>>,
}

#[handlers]
impl Member {
    #[start]
    fn start(desk: Desk) -> Self {
        Self { desk, handed: 0, busy: false }
    }
    /// Sends so many letters to each of the others, and waits for room.
    #[tell]
    async fn flood(&mut self, others: Vec<Ref<Self>>, count: u64, order: Parcel) {
        for number in 0..count {
            for other in &others {
                if self.desk.gaps {
                    tokio::task::yield_now().await;
                }
                let letter = other.take(self.desk.me, number, self.desk.ledger.issue());
                // A letter that waits for room when its sender is killed was never sent.
                let sent = if self.desk.gaps { letter.try_send() } else { letter.await };
                sent.unwrap_or_else(|error| error.into_message().returned());
            }
        }
        order.handled();
    }
    #[tell]
    async fn take(&mut self, from: usize, number: u64, parcel: Parcel) {
        self.check_alone();
        self.busy = true;
        self.check_order(from, number);
        if number % 3 == 1 {
            tokio::task::yield_now().await;
        }
        parcel.handled();
        self.busy = false;
    }
    /// Hands a token on, which is the sender's `number`th.
    #[tell]
    async fn pass(&mut self, ring: Arc<[Ref<Self>]>, token: Token, parcel: Parcel) {
        self.check_alone();
        self.busy = true;
        self.check_order(token.from, token.number);
        if token.hops % 3 == 1 {
            tokio::task::yield_now().await;
        }
        parcel.handled();
        if token.hops > 0 {
            let me = self.desk.me;
            let next = ring[(me + 1) % ring.len()].clone();
            let handed = Token { from: me, number: self.handed, hops: token.hops - 1 };
            self.handed += 1;
            let sent = next.pass(ring, handed, self.desk.ledger.issue()).try_send();
            sent.unwrap_or_else(|error| error.into_message().returned());
        }
        self.busy = false;
    }
    #[tell]
    fn crash(&mut self, parcel: Parcel) {
        panic!("as told, with {parcel:?}");
    }
    #[ask]
    fn handled(&self) -> u64 {
        self.desk.due.lock().iter().sum()
    }
    fn check_order(&self, from: usize, number: u64) {
        let due = std::mem::replace(&mut self.desk.due.lock()[from], number + 1);
        let in_order = number == due || self.desk.gaps && number > due;
        let wrong = format_args!("each sender's letters in order: {number} where {due} was due");
        self.desk.violations.check(in_order, wrong);
    }
    fn check_alone(&self) {
        self.desk.violations.check(!self.busy, "one handler at a time");
    }
}

impl MemberMessage {
    /// Its sender has it again.
    fn returned(self) {
        match self {
            Self::Flood { order: parcel, .. }
            | Self::Take { parcel, .. }
            | Self::Pass { parcel, .. }
            | Self::Crash { parcel } => {
                parcel.returned();
            }
            Self::Handled { .. } => {}
        }
    }
}

/// A node with members.
struct Stage {
    system: System,
    ledger: Arc<Ledger>,
    violations: Violations,
    gaps: bool,
    picks: Vec<usize>,
}

impl Stage {
    async fn member(&self, me: usize) -> Ref<Member> {
        let (ledger, violations) = (Arc::clone(&self.ledger), self.violations.clone());
        let desk = Desk { me, ledger, violations, gaps: self.gaps, due: Arc::default() };
        self.system.spawn::<Member>(desk).await.unwrap()
    }

    async fn members(&self) -> Vec<Ref<Member>> {
        let mut members = Vec::new();
        for me in 0..MEMBERS {
            members.push(self.member(me).await);
        }
        members
    }

    /// Everybody sends to everybody.
    async fn mesh(&self) {
        let members = self.members().await;
        for (me, member) in members.iter().enumerate() {
            let others = [&members[..me], &members[me + 1..]].concat();
            member.flood(others, 5, self.ledger.issue()).await.unwrap();
        }
        self.settle(&members, (MEMBERS * (MEMBERS - 1) * 5) as u64).await;
    }

    /// All send to one, whose mailbox is soon full.
    async fn fan_in(&self) {
        let members = self.members().await;
        for member in &members[1..] {
            member.flood(vec![members[0].clone()], 40, self.ledger.issue()).await.unwrap();
        }
        self.settle(&members[..1], ((MEMBERS - 1) * 40) as u64).await;
    }

    /// Two tokens go round.
    async fn ring(&self) {
        let ring: Arc<[Ref<Member>]> = self.members().await.into();
        for (number, member) in (0..).zip(&ring[..2]) {
            // From outside, by a sender of its own, whose only one it is there.
            let token = Token { from: MEMBERS, number: 0, hops: 30 + number };
            member.pass(Arc::clone(&ring), token, self.ledger.issue()).await.unwrap();
        }
        while self.ledger.issued() < 63 {
            tokio::task::yield_now().await;
        }
    }

    /// Members end, crash and come, while others send to them.
    async fn churn(&self) {
        let mut members = self.members().await;
        for (me, member) in members.iter().enumerate() {
            let others = [&members[..me], &members[me + 1..]].concat();
            member.flood(others, 4, self.ledger.issue()).await.unwrap();
        }
        for (turn, &pick) in self.picks.iter().enumerate() {
            let place = pick % members.len();
            match pick / 5 % 5 {
                0 => drop(members[place].stop()),
                1 => drop(members[place].kill()),
                2 => drop(members[place].drain()),
                3 => {
                    let crash = members[place].crash(self.ledger.issue()).try_send();
                    crash.unwrap_or_else(|error| error.into_message().returned());
                }
                _ => members[place] = self.member(place).await,
            }
            // From outside, by a sender of its own.
            let parcel = self.ledger.issue();
            let sent = members[place].take(MEMBERS, turn as u64, parcel).try_send();
            sent.unwrap_or_else(|error| error.into_message().returned());
        }
    }

    /// As `mesh`, while members move to other workers, where they live on one. Returns how many were to.
    async fn migrate(&self) -> usize {
        let members = self.members().await;
        for (me, member) in members.iter().enumerate() {
            let others = [&members[..me], &members[me + 1..]].concat();
            member.flood(others, 5, self.ledger.issue()).await.unwrap();
        }
        let mut moves = 0;
        for pick in &self.picks {
            match members[pick % MEMBERS].migrate(pick / MEMBERS % 3) {
                Ok(()) => moves += 1,
                Err(error) => assert_eq!(error, MigrateError::NoHome),
            }
            tokio::task::yield_now().await;
        }
        self.settle(&members, (MEMBERS * (MEMBERS - 1) * 5) as u64).await;
        moves
    }

    /// Waits until so many letters are handled.
    async fn settle(&self, members: &[Ref<Member>], letters: u64) {
        loop {
            let mut handled = 0;
            for member in members {
                handled += member.handled().await.unwrap();
            }
            if handled == letters {
                return;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Workload {
    Mesh,
    FanIn,
    Ring,
    Churn,
    Migrate,
}

const WORKLOADS: [Workload; 5] =
    [Workload::Mesh, Workload::FanIn, Workload::Ring, Workload::Churn, Workload::Migrate];

/// Plays a workload in a world, and settles the account. Returns how many members were to move.
fn play(world: &mut World, workload: Workload, scheduler: Scheduling) -> usize {
    let workers = 1 + world.pick(3).max(usize::from(workload == Workload::Migrate) * 2);
    let node =
        world.node("one").settings(move |builder| scheduled(builder.workers(workers), scheduler));
    let system = node.start().system();
    let ledger = Ledger::new(PARCELS_MAX);
    let picks = (0..PICKS).map(|_| world.pick(25)).collect();
    let gaps = workload == Workload::Churn;
    let violations = Violations::default();
    let stage = Stage {
        system: system.clone(),
        ledger: Arc::clone(&ledger),
        violations: violations.clone(),
        gaps,
        picks,
    };
    let moves = world.run(async {
        let mut moves = 0;
        match workload {
            Workload::Mesh => stage.mesh().await,
            Workload::FanIn => stage.fan_in().await,
            Workload::Ring => stage.ring().await,
            Workload::Churn => stage.churn().await,
            Workload::Migrate => moves = stage.migrate().await,
        }
        system.drain(LONG).await.unwrap();
        moves
    });
    violations.assert_none();
    assert!(world.now() < Duration::from_secs(1), "nobody waited for a timer: {:?}", world.now());
    let tally = ledger.settle(&system.counts());
    if workload != Workload::Churn {
        assert_eq!((tally.issued, tally.returned, tally.dropped), (tally.handled, 0, 0));
    }
    world.sometimes("a message is handed back", tally.returned > 0 || !gaps);
    world.sometimes("a message is dropped and reported", tally.dropped > 0 || !gaps);
    moves
}

fn everywhere(workload: Workload) {
    for scheduler in SCHEDULINGS {
        let explore = Explore::new().seeds(SEEDS);
        let explore = if workload == Workload::Churn { explore.allow_panics() } else { explore };
        explore.run(|world| {
            play(world, workload, scheduler);
        });
    }
}

#[test]
fn mesh() {
    everywhere(Workload::Mesh);
}

#[test]
fn fan_in() {
    everywhere(Workload::FanIn);
}

#[test]
fn ring() {
    everywhere(Workload::Ring);
}

#[test]
fn churn() {
    everywhere(Workload::Churn);
}

#[test]
fn migrate() {
    everywhere(Workload::Migrate);
}

#[test]
fn where_members_live_on_a_worker_all_who_are_to_move_may() {
    Explore::new().seeds(SEEDS).run(|world| {
        let moves = play(world, Workload::Migrate, Some(Scheduler::per_core));
        assert_eq!(moves, PICKS);
    });
}

/// The traces of a scenario's worlds, as one hash for each. They are explored, because actors may panic in those alone.
fn traces_of<T>(scenario: impl Fn(&mut World) -> T) -> String {
    let hashes = RefCell::new(Vec::new());
    Explore::new().seeds(COMPARED).allow_panics().run(|world| {
        scenario(world);
        hashes.borrow_mut().push(format!("{:016x}", world.trace_hash()));
    });
    hashes.into_inner().join(" ")
}

/// Those of each workload under each scheduler, of supervision trees, and of nodes under drawn faults.
fn traces() -> Vec<String> {
    let each = WORKLOADS.into_iter().flat_map(|load| SCHEDULINGS.map(|by| (load, by)));
    let workloads = each.map(|(load, by)| traces_of(|world| play(world, load, by)));
    workloads.chain([traces_of(supervision::play), traces_of(crashes::rage)]).collect()
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn traces_to_compare() {
    // Not to the standard output: its buffer is one that the harness writes to from other threads.
    for of_one in traces() {
        eprintln!("traces: {of_one}");
    }
}

#[test]
#[cfg_attr(sanitized, ignore = "slow, and only compares")]
fn a_seed_gives_the_same_world_in_every_process() {
    let mut other = Command::new(std::env::current_exe().unwrap());
    let other = other.args(["--exact", "oracles::traces_to_compare", "--ignored", "--nocapture"]);
    let other = other.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let own = traces();
    for of_one in &own {
        let distinct: BTreeSet<_> = of_one.split(' ').collect();
        assert_eq!(distinct.len(), of_one.split(' ').count(), "each seed gives a world of its own");
    }
    let printed = String::from_utf8(other.wait_with_output().unwrap().stderr).unwrap();
    // Panics of actors are told there, too.
    let theirs: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("traces: ")).collect();
    assert_eq!(theirs, own);
}
