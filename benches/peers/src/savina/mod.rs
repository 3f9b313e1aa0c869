//! Programs of the Savina suite, as its authors describe them (Shams Imam and Vivek Sarkar, "Savina –
//! An Actor Benchmark Suite", AGERE 2014), and what every peer's version of them shares.
//!
//! The modules hold everything but the messages: parameters, seeded randomness, computations, the
//! states of the actors that manage others, and the answers that each program has to find. So peers
//! differ in how they start actors and send messages, and in nothing else.
//!
//! | program | Savina's parameters | one operation | default n | 100-fold n |
//! |---|---|---|---|---|
//! | [`concdict`] | 20 workers, 10,000 requests each, 10 % writes | a request and its answer | 200,000 | 20,000,000 |
//! | [`bndbuffer`] | 40 producers, 40 consumers, room for 50, 1,000 items each | an item | 40,000 | 4,000,000 |
//! | [`philosopher`] | 20 philosophers, 10,000 meals each | a meal | 200,000 | 20,000,000 |
//! | [`barber`] | 5,000 haircuts, 1,000 seats, spells of 1,000 on average | a haircut | 5,000 | 500,000 |
//! | [`banking`] | 1,000 accounts, 50,000 transfers | a transfer | 50,000 | 5,000,000 |
//! | [`fib`] | the 25th number | a call | 150,049 | 18,454,929 |
//! | [`quicksort`] | 1,000,000 numbers, parts of 2,048 | a number | 1,000,000 | 100,000,000 |
//! | [`recmatmul`] | 1024 by 1024, blocks of 16,384, 20 workers | a product of blocks | 512 | 32,768 |
//! | [`nqueenk`] | 12 queens, 20 workers, 4 queens by messages | a solution | 14,200 | 2,279,184 |
//! | [`uct`] | 200,000 nodes, 500 ± 100 of computing, 10 children | a node | 200,000 | 2,000,000 |
//! | [`apsp`] | 300 vertices, tiles of 50 | a round of a tile | 10,800 | 1,097,600 |
//!
//! `n` counts operations. Where they grow in steps, as with the number of queens, a program does as many
//! as fit into `n`, and its time per operation is right for those of the table. The last column has a
//! hundred times the work, or nearly that:
//!
//! - of blocks 64 times as many, as the next size has 512 times as many;
//! - of solutions 160 times as many, with 15 queens;
//! - of nodes 10 times as many, as they all live at once: 2,000,000 take 0.8 GB as greenroom actors,
//!   2.4 GB as actix actors and 3.2 GB as tokio tasks.
//!
//! Calls of `fib` may all live at once, too: those of the last column take less than 0.5 GB where the
//! newest run first, as greenroom actors and tokio tasks, and more than 6 GB where the oldest do, as
//! actix actors.
//!
//! The programs differ from the description in two points. Messages have no priorities, which `nqueenk`
//! and `uct` would use as hints. Customers of the barber come in one after the other: who was turned
//! away tries again before the next one comes, or those outside would keep the barber from his work.

pub mod apsp;
pub mod banking;
pub mod barber;
pub mod bndbuffer;
pub mod concdict;
mod done;
pub mod fib;
pub mod nqueenk;
pub mod philosopher;
pub mod quicksort;
pub mod random;
pub mod recmatmul;
pub mod uct;

pub use done::Done;

/// How many operations the program does when it is to do `n`: as many as its steps let it, and never more. Programs
/// that are none of these do all.
#[must_use]
pub fn operations(program: &str, n: u64) -> u64 {
    match program {
        "savina_fib" => fib::calls(fib::index(n)),
        "savina_recmatmul" => recmatmul::products(n),
        "savina_nqueenk" => nqueenk::solutions(nqueenk::side(n)),
        "savina_uct" => uct::nodes(n),
        "savina_apsp" => apsp::rounds(apsp::side(n) as u64),
        _ => n,
    }
}

/// The programs, each with an `n` that is over in no time.
pub const SMALL: [(&str, u64); 11] = [
    ("savina_concdict", 2000),
    ("savina_bndbuffer", 500),
    ("savina_philosopher", 1000),
    ("savina_barber", 1500),
    ("savina_banking", 2000),
    ("savina_fib", 1000),
    ("savina_quicksort", 20_000),
    ("savina_recmatmul", 8),
    ("savina_nqueenk", 100),
    ("savina_uct", 1000),
    ("savina_apsp", 400),
];
