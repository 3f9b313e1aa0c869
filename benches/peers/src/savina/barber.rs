//! Sleeping barber: customers come to a waiting room of 1,000 seats, and again when it is full.

use super::random::{Random, busy};
use std::collections::VecDeque;

/// How many customers can wait.
const SEATS: usize = 1000;
/// How long a haircut takes at most, in rounds of [`busy`], and how long it is between customers.
const ROUNDS_MAX: u64 = 2000;

/// How long haircuts, or pauses, take.
#[derive(Debug)]
pub struct Spells(Random);

impl Spells {
    /// Those of haircuts.
    #[must_use]
    pub const fn of_haircuts() -> Self {
        Self(Random::new(1))
    }

    /// Those between one customer and the next.
    #[must_use]
    pub const fn between_customers() -> Self {
        Self(Random::new(2))
    }

    /// Spends the next one, 1,000 rounds on average.
    pub fn spend(&mut self) {
        busy(self.0.below(ROUNDS_MAX));
    }
}

/// What becomes of a customer who comes in, by whatever reaches them.
#[derive(Debug)]
pub enum Entry<C> {
    /// No seat is free.
    Full(C),
    /// They have a seat.
    Seated,
    /// Nobody is in front of them and the barber sleeps.
    Awaited(C),
}

/// What the waiting room keeps.
#[derive(Debug)]
pub struct Room<C> {
    seats: VecDeque<C>,
    barber_sleeps: bool,
}

impl<C> Room<C> {
    /// An empty room, and a barber who sleeps.
    #[must_use]
    pub const fn new() -> Self {
        Self { seats: VecDeque::new(), barber_sleeps: true }
    }

    /// A customer comes in.
    pub fn enter(&mut self, customer: C) -> Entry<C> {
        if self.barber_sleeps {
            self.barber_sleeps = false;
            return Entry::Awaited(customer);
        }
        if self.seats.len() == SEATS {
            return Entry::Full(customer);
        }
        self.seats.push_back(customer);
        Entry::Seated
    }

    /// The barber looks for the next customer, and sleeps if there is none.
    pub fn next_customer(&mut self) -> Option<C> {
        let customer = self.seats.pop_front();
        self.barber_sleeps = customer.is_none();
        customer
    }
}

impl<C> Default for Room<C> {
    fn default() -> Self {
        Self::new()
    }
}
