//! Banking: money goes between 1,000 accounts, whose owner waits for the other side of each transfer.

use super::random::Random;

/// How many accounts there are.
pub const ACCOUNTS: usize = 1000;

/// One of them. Money goes only to an account with a higher number: accounts that wait for each other
/// in a circle would wait for ever.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The number of the account that pays.
    pub from: usize,
    /// The number of the account that is paid.
    pub to: usize,
    /// How much.
    pub amount: i64,
}

/// The first `n` transfers, the same for everybody.
pub fn transfers(n: u64) -> impl Iterator<Item = Transfer> {
    let mut random = Random::new(3);
    let mut below = move |limit: usize| random.below(limit as u64) as usize;
    (0..n).map(move |_| {
        let from = below(ACCOUNTS - 1);
        let to = from + 1 + below(ACCOUNTS - 1 - from);
        Transfer { from, to, amount: 1 + below(1000) as i64 }
    })
}

/// The balances after them; all accounts start with nothing and may be overdrawn.
#[must_use]
pub fn balances(n: u64) -> Vec<i64> {
    let mut balances = vec![0; ACCOUNTS];
    for Transfer { from, to, amount } in transfers(n) {
        balances[from] -= amount;
        balances[to] += amount;
    }
    balances
}
