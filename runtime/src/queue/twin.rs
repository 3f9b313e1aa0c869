//! Locked twins of the lock-free parts: obviously right, and the oracles they are tested against.

use crate::sync::Mutex;
use std::collections::VecDeque;

/// The twin of [`Ring`](super::ring::Ring).
pub(crate) struct LockedRing {
    values: Mutex<VecDeque<usize>>,
    capacity: usize,
}

impl LockedRing {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { values: Mutex::new(VecDeque::new()), capacity }
    }

    pub(crate) fn push(&self, value: usize) -> Result<(), usize> {
        let mut values = self.values.lock();
        if values.len() == self.capacity {
            return Err(value);
        }
        values.push_back(value);
        Ok(())
    }

    pub(crate) fn pop(&self) -> Option<usize> {
        self.values.lock().pop_front()
    }

    pub(crate) fn shed(&self) -> Vec<usize> {
        let mut values = self.values.lock();
        let count = values.len() / 2;
        values.drain(..count).collect()
    }

    /// The older half, rounded up; the last of them is the one to be run at once.
    pub(crate) fn steal(&self) -> Vec<usize> {
        let mut values = self.values.lock();
        let count = values.len() - values.len() / 2;
        values.drain(..count).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.values.lock().len()
    }
}

/// The twin of [`Mpmc`](super::mpmc::Mpmc), and of what a consumer has claimed.
pub(crate) struct LockedLine(Mutex<VecDeque<usize>>);

impl LockedLine {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    pub(crate) fn push(&self, value: usize) {
        self.0.lock().push_back(value);
    }

    /// One of `parts` of all, rounded up, or `most` if that is less; the oldest first.
    pub(crate) fn claim(&self, parts: usize, most: usize) -> Vec<usize> {
        let mut values = self.0.lock();
        let count = values.len().div_ceil(parts).min(most);
        values.drain(..count).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

/// The twin of the user and urgent lanes of an [`Inbox`](super::inbox::Inbox), with the token as a
/// plain state.
pub(crate) struct LockedInbox(Mutex<InboxState>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Held,
    Idle,
    Parked,
    Dead,
}

pub(crate) struct InboxState {
    pub(crate) token: Token,
    pub(crate) urgent_flag: bool,
    pub(crate) users: VecDeque<usize>,
    pub(crate) urgents: Vec<usize>,
}

impl LockedInbox {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(InboxState {
            token: Token::Held,
            urgent_flag: false,
            users: VecDeque::new(),
            urgents: Vec::new(),
        }))
    }

    /// What `Inbox::push` answers: the token taken, if any.
    pub(crate) fn push(&self, value: usize) -> Option<Token> {
        let mut state = self.0.lock();
        state.users.push_back(value);
        match state.token {
            Token::Held | Token::Parked => None,
            taken @ (Token::Idle | Token::Dead) => {
                state.token = Token::Held;
                Some(taken)
            }
        }
    }

    pub(crate) fn push_urgent(&self, value: usize) -> Option<Token> {
        let mut state = self.0.lock();
        state.urgents.push(value);
        if state.token == Token::Dead {
            return Some(Token::Dead);
        }
        state.urgent_flag = true;
        match std::mem::replace(&mut state.token, Token::Held) {
            Token::Held => None,
            taken => Some(taken),
        }
    }

    pub(crate) fn wake(&self) -> bool {
        let mut state = self.0.lock();
        match state.token {
            Token::Idle | Token::Dead => false,
            Token::Held => {
                state.urgent_flag = true;
                false
            }
            Token::Parked => {
                state.urgent_flag = true;
                state.token = Token::Held;
                true
            }
        }
    }

    pub(crate) fn is_urgent(&self) -> bool {
        self.0.lock().urgent_flag
    }

    pub(crate) fn take_urgent(&self) -> Vec<usize> {
        let mut state = self.0.lock();
        state.urgent_flag = false;
        std::mem::take(&mut state.urgents)
    }

    pub(crate) fn empty_urgent(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.lock().urgents)
    }

    pub(crate) fn pop(&self) -> Option<usize> {
        self.0.lock().users.pop_front()
    }

    pub(crate) fn give_back(&self, token: Token) -> bool {
        let mut state = self.0.lock();
        let allowed = match token {
            Token::Parked => !state.urgent_flag,
            _ => !state.urgent_flag && state.users.is_empty(),
        };
        if allowed {
            state.token = token;
        }
        allowed
    }
}
