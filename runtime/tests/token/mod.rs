//! The token protocol of a mailbox as a machine whose every interleaving can be walked through.
//!
//! One step is one operation on shared memory; a loop of compare-and-exchange counts as the one
//! that succeeds. Memory is sequentially consistent here: what weaker orderings do is for the
//! models beside the code, which run the code itself but cannot afford this many threads.

const IDLE: u8 = 1;
const PARKED: u8 = 2;
const URGENT: u8 = 4;
const DEAD: u8 = 8;
/// The flags of which one, or some thread, holds the token.
const TOKEN: u8 = IDLE | PARKED | DEAD;

const SENDERS: usize = 2;
const URGENT_SENDER: usize = SENDERS;
const WAKER: usize = SENDERS + 1;
const WORKERS: usize = 2;
const THREADS: usize = SENDERS + 2 + WORKERS;
/// Nodes that a walk has room for: the first one, and one for each message.
const NODES: usize = 4;

/// A change to the protocol that breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The runner compares the word and then stores IDLE, in two steps.
    RestByStore,
    /// The same at the end of the actor, with DEAD.
    DieByStore,
    /// An urgent push sets its flag and leaves the token where it is.
    UrgentLeavesToken,
    /// A push does not put back the PARKED that it took away.
    PushForgetsParked,
    /// A push does not put back the URGENT that it took away.
    PushForgetsUrgent,
    /// A push that puts URGENT back leaves a token that was parked meanwhile.
    RaiseLeavesToken,
    /// A push puts PARKED back although URGENT has come meanwhile.
    ParkIgnoresUrgent,
    /// The runner empties the urgent lane before it clears the flag.
    LaneBeforeFlag,
    /// A wake-up schedules the consumer whether it was parked or not.
    WakeAlwaysSchedules,
    /// A late sender takes DEAD for no flag at all.
    PushIgnoresDead,
}

/// Where a walk begins, and what the urgent message does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The consumer's maker has given the token back; otherwise it is in the ready queue.
    pub(crate) idle: bool,
    /// A handler waits for what the waker brings.
    pub(crate) waits: bool,
    /// The urgent message ends the actor.
    pub(crate) ends: bool,
    /// Messages from each sender.
    pub(crate) messages: [u8; SENDERS],
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Senders: the swap, the link, and the answer for the flags that the swap took.
    Swap,
    Link {
        node: u8,
        taken: u8,
    },
    Answer {
        taken: u8,
    },
    /// Puts the token that the thread holds into the ready queue.
    Schedule,
    /// The urgent sender: the stack, the word, and what a dead actor leaves to it.
    Stack,
    Signal,
    EmptyLane,
    /// The waker: what the handler waits for, and the word.
    Bring,
    Wake,
    /// Workers: the ready queue.
    Take,
    /// Runners: the hint, the flag, the lane, the handler, the oldest message, the end of the lane.
    Look,
    ClearFlag,
    TakeLane,
    Choose,
    Poll,
    Park,
    Pop,
    FindEnd,
    GiveBack,
    /// The second step of a store that should have been an exchange.
    Store,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Thread {
    step: Step,
    /// Messages still to be sent.
    left: u8,
}

/// All there is between two steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The word: the number of the newest node, counted in the order of the swaps, and the flags.
    newest: u8,
    flags: u8,
    /// Who sent each node, and as which of its messages.
    sent: [(u8, u8); NODES],
    /// Nodes that are linked to the one before them.
    linked: [bool; NODES],
    /// Nodes in the urgent lane.
    stack: u8,
    tail: u8,
    waits: bool,
    ended: bool,
    /// Whether what the handler waits for has happened.
    brought: bool,
    /// Messages taken out, by sender.
    taken_out: [u8; SENDERS],
    /// Whether the messages of a sender came out in another order.
    disorder: bool,
    urgents: u8,
    ready: u8,
    threads: [Thread; THREADS],
}

impl State {
    pub(crate) fn new(start: Start) -> Self {
        let thread = |index| Thread {
            step: match index {
                0..SENDERS => Step::Swap,
                URGENT_SENDER => Step::Stack,
                WAKER => Step::Bring,
                _ => Step::Take,
            },
            left: start.messages.get(index).copied().unwrap_or(0),
        };
        Self {
            newest: 0,
            flags: if start.idle { IDLE } else { 0 },
            sent: [(0, 0); NODES],
            linked: [false; NODES],
            stack: 0,
            tail: 0,
            waits: start.waits,
            ended: false,
            brought: false,
            taken_out: [0; SENDERS],
            disorder: false,
            urgents: 0,
            ready: u8::from(!start.idle),
            threads: std::array::from_fn(thread),
        }
    }

    /// Every state that one step of one thread leads to.
    pub(crate) fn successors(&self, start: Start, fault: Option<Fault>) -> Vec<Self> {
        let mut all = Vec::new();
        for index in 0..THREADS {
            let mut next = self.clone();
            match self.threads[index].step {
                Step::Done => continue,
                Step::Take if self.ready == 0 => continue,
                _ => next.advance(index, start, fault),
            }
            // A turn may be over after any message.
            let popped = next.tail != self.tail && !next.ended;
            if popped && next.threads[index].step == Step::Look {
                let mut spent = next.clone();
                spent.threads[index].step = Step::Schedule;
                all.push(spent);
            }
            all.push(next);
        }
        all
    }

    fn advance(&mut self, index: usize, start: Start, fault: Option<Fault>) {
        let faulty = |is: Fault| fault == Some(is);
        self.threads[index].step = match self.threads[index].step {
            Step::Swap => self.swap(index, start),
            Step::Link { node, taken } => {
                self.linked[usize::from(node)] = true;
                Step::Answer { taken }
            }
            Step::Answer { taken } => self.answer_for(taken, index, fault),
            Step::Schedule => {
                self.ready += 1;
                self.rested(index)
            }
            Step::Stack => {
                self.stack += 1;
                Step::Signal
            }
            Step::Signal if self.flags & DEAD != 0 => Step::EmptyLane,
            Step::Signal if faulty(Fault::UrgentLeavesToken) => {
                self.flags |= URGENT;
                Step::Done
            }
            Step::Signal => self.take_token(IDLE | PARKED, index),
            Step::EmptyLane => {
                self.urgents += std::mem::take(&mut self.stack);
                Step::Done
            }
            Step::Bring => {
                self.brought = true;
                Step::Wake
            }
            Step::Wake if self.flags & (IDLE | DEAD) != 0 => Step::Done,
            Step::Wake => match self.take_token(PARKED, index) {
                Step::Done if faulty(Fault::WakeAlwaysSchedules) => Step::Schedule,
                step => step,
            },
            Step::Take => {
                self.ready -= 1;
                Step::Look
            }
            step => self.run(step, index, start, fault),
        };
    }

    fn swap(&mut self, index: usize, start: Start) -> Step {
        let taken = std::mem::take(&mut self.flags);
        let number = start.messages[index] - self.threads[index].left;
        self.threads[index].left -= 1;
        self.newest += 1;
        self.sent[usize::from(self.newest)] = (u8::try_from(index).expect("few threads"), number);
        Step::Link { node: self.newest, taken }
    }

    fn answer_for(&mut self, taken: u8, index: usize, fault: Option<Fault>) -> Step {
        let faulty = |is: Fault| fault == Some(is);
        if taken & DEAD != 0 && !faulty(Fault::PushIgnoresDead) {
            return Step::ClearFlag;
        }
        if taken & IDLE != 0 {
            return Step::Schedule;
        }
        if taken & URGENT != 0 && !faulty(Fault::PushForgetsUrgent) {
            if faulty(Fault::RaiseLeavesToken) {
                self.flags |= URGENT;
                return self.rested(index);
            }
            return self.take_token(IDLE | PARKED, index);
        }
        if taken & PARKED != 0 && !faulty(Fault::PushForgetsParked) {
            if self.flags & URGENT != 0 && !faulty(Fault::ParkIgnoresUrgent) {
                return Step::Schedule;
            }
            self.flags |= PARKED;
        }
        self.rested(index)
    }

    /// Sets URGENT and takes the token from those of `flags` that are set.
    fn take_token(&mut self, flags: u8, index: usize) -> Step {
        let took = self.flags & flags != 0;
        self.flags = self.flags & !flags | URGENT;
        if took { Step::Schedule } else { self.rested(index) }
    }

    /// What comes after a thread's work on the consumer, or without any.
    fn rested(&self, index: usize) -> Step {
        match index {
            0..SENDERS if self.threads[index].left > 0 => Step::Swap,
            0..=WAKER => Step::Done,
            _ => Step::Take,
        }
    }

    /// A step of whoever holds the token and works with it.
    fn run(&mut self, step: Step, index: usize, start: Start, fault: Option<Fault>) -> Step {
        let lane_first = fault == Some(Fault::LaneBeforeFlag);
        match step {
            Step::Look if self.flags & URGENT == 0 => Step::Choose,
            Step::Look if lane_first => Step::TakeLane,
            Step::Look => Step::ClearFlag,
            Step::ClearFlag => {
                self.flags &= !URGENT;
                if lane_first { Step::Choose } else { Step::TakeLane }
            }
            Step::TakeLane => {
                self.ended |= start.ends && self.stack > 0;
                self.urgents += std::mem::take(&mut self.stack);
                if lane_first { Step::ClearFlag } else { Step::Choose }
            }
            Step::Choose if self.waits && !self.ended => Step::Poll,
            Step::Choose => Step::Pop,
            Step::Poll if self.brought => {
                self.waits = false;
                Step::Look
            }
            Step::Poll => Step::Park,
            Step::Park if self.flags & URGENT != 0 => Step::Schedule,
            Step::Park => {
                self.flags |= PARKED;
                self.rested(index)
            }
            Step::Pop => self.pop(),
            Step::FindEnd if self.newest == self.tail => Step::GiveBack,
            // The lane is broken: a runner ends its turn, a burial looks again.
            Step::FindEnd if self.ended => Step::ClearFlag,
            Step::FindEnd => Step::Schedule,
            Step::GiveBack | Step::Store => self.give_back(step, index, fault),
            other => unreachable!("{other:?} is no step of a runner"),
        }
    }

    fn pop(&mut self) -> Step {
        let next = usize::from(self.tail) + 1;
        if !self.linked.get(next).is_some_and(|&linked| linked) {
            return Step::FindEnd;
        }
        self.tail += 1;
        let (sender, number) = self.sent[next];
        let before = &mut self.taken_out[usize::from(sender)];
        self.disorder |= number != *before;
        *before += 1;
        if self.ended { Step::Pop } else { Step::Look }
    }

    fn give_back(&mut self, step: Step, index: usize, fault: Option<Fault>) -> Step {
        let (flag, by_store) =
            if self.ended { (DEAD, Fault::DieByStore) } else { (IDLE, Fault::RestByStore) };
        let is_store = step == Step::Store;
        if !is_store && (self.newest != self.tail || self.flags != 0) {
            return if self.ended { Step::ClearFlag } else { Step::Look };
        }
        if !is_store && fault == Some(by_store) {
            return Step::Store;
        }
        self.newest = self.tail;
        self.flags = flag;
        self.rested(index)
    }

    /// What is wrong with the state, whatever comes after it.
    pub(crate) fn broken_promise(&self) -> Option<&'static str> {
        let holders = self.threads.iter().filter(|thread| thread.step.holds_token()).count();
        let runners = self.threads.iter().filter(|thread| thread.step.is_run()).count();
        let tokens = (self.flags & TOKEN).count_ones() as usize + usize::from(self.ready) + holders;
        if runners > 1 {
            return Some("two threads run the consumer");
        }
        if tokens > 1 {
            return Some("there are two tokens");
        }
        if tokens == 0 {
            return Some("the token is lost");
        }
        if self.flags & URGENT != 0 && self.flags & (IDLE | PARKED) != 0 {
            return Some("the consumer rests although something urgent is new");
        }
        self.disorder.then_some("the messages of one sender are out of order")
    }

    /// What is missing when no thread has a step left.
    pub(crate) fn unfinished(&self, start: Start) -> Option<&'static str> {
        if self.taken_out != start.messages {
            return Some("a message is lost");
        }
        if self.urgents != 1 {
            return Some("an urgent message is lost");
        }
        if self.waits && !self.ended {
            return Some("a wake-up is lost");
        }
        // A sender that took URGENT before the end may put it back after it: nothing is behind it.
        let at_rest = if self.ended { self.flags & !URGENT == DEAD } else { self.flags == IDLE };
        (!at_rest).then_some("the consumer does not rest")
    }
}

impl Step {
    /// Whether the thread is at the consumer.
    fn is_run(self) -> bool {
        use Step::{Choose, ClearFlag, FindEnd, GiveBack, Look, Park, Poll, Pop, Store, TakeLane};
        let work = [Choose, ClearFlag, FindEnd, GiveBack, Look, Park, Poll, Pop, Store, TakeLane];
        work.contains(&self)
    }

    fn holds_token(self) -> bool {
        match self {
            Self::Schedule => true,
            Self::Link { taken, .. } | Self::Answer { taken } => taken & TOKEN != 0,
            step => step.is_run(),
        }
    }
}
