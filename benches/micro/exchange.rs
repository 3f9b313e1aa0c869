//! Groups of threads that call each other, everyone everyone: over rings and over one queue each.

use super::record::{Micro, Program, Rate, Times, times};
use super::threads::{Patience, together};
use greenroom::queue::exchange::{Node, Received, Wires};
use greenroom::queue::{flux, mesh};
use std::time::Instant;

/// What a call and its reply carry.
type Payload = [u8; 32];

const THREADS: [usize; 7] = [2, 3, 4, 6, 8, 12, 16];
const DEPTHS: [usize; 5] = [1, 4, 16, 64, 256];
/// Calls to each peer at a time.
const CALLS: u64 = 256;

/// Measures both in every row.
pub(crate) fn measure(micro: &mut Micro) {
    rows(micro, "flux", flux::nodes, flux::nodes);
    rows(micro, "mesh", mesh::nodes, mesh::nodes);
    // The control: what differs from the first time says how far to trust the rest.
    throughput(micro, "flux (again)", (2, 64), flux::nodes);
    let goals: Vec<Rate> = THREADS
        .into_iter()
        .flat_map(|threads| DEPTHS.map(|depth| over_mesh(threads, depth)))
        .collect();
    micro.table(
        "Groups",
        &format!(
            "`all_to_all`: a call with its reply, 32 bytes each, everyone to everyone, so many of them \
             to each peer unanswered: the time of all by their number. `few_active`: on one thread, a \
             call and its reply between two of so many nodes, the others silent. `round_trip`: what a \
             caller waits for its reply, by its own clock.\n\nMemory of all nodes at depth 64: {}.",
            THREADS.map(memory).join(", ")
        ),
        &goals,
        &[],
    );
}

fn over_mesh(threads: usize, depth: usize) -> Rate {
    Rate { program: all_to_all(threads, depth), ours: &["flux"], theirs: "mesh", least: 1.0 }
}

fn all_to_all(threads: usize, depth: usize) -> String {
    format!("all_to_all {threads} threads, depth {depth}")
}

fn memory(nodes: usize) -> String {
    let all = flux::nodes::<Payload, ()>(nodes, 64);
    let rings: usize = all.iter().map(|node| node.memory_bytes()).sum();
    let all = mesh::nodes::<Payload, ()>(nodes, 64);
    let inboxes: usize = all.iter().map(|node| node.memory_bytes()).sum();
    format!("{nodes} threads {} KiB as flux, {} KiB as mesh", rings >> 10, inboxes >> 10)
}

/// Makes a group of so many nodes and that depth.
type Make<U, W> = fn(usize, usize) -> Vec<Node<Payload, U, W>>;

fn rows<W: Wires<Payload> + Send>(
    micro: &mut Micro,
    who: &str,
    make: Make<(), W>,
    make_timed: Make<Instant, W>,
) {
    for threads in THREADS {
        for depth in DEPTHS {
            throughput(micro, who, (threads, depth), make);
        }
    }
    for threads in THREADS {
        for depth in DEPTHS {
            round_trip(micro, who, (threads, depth), make_timed);
        }
    }
    for nodes in [2, 8, 16] {
        few_active(micro, who, nodes, make);
    }
}

fn throughput<W: Wires<Payload> + Send>(
    micro: &mut Micro,
    who: &str,
    (threads, depth): (usize, usize),
    make: Make<(), W>,
) {
    let program =
        Program::new(all_to_all(threads, depth), (threads * (threads - 1)) as u64 * CALLS)
            .on(threads)
            .of_a_group();
    micro.row(&program, who, |count| {
        let part = |node| {
            let work = move || call_everyone(node, threads, count * CALLS, || (), |()| {});
            Box::new(work) as Box<dyn FnOnce() + Send>
        };
        together(make(threads, depth).into_iter().map(part).collect()).0
    });
}

fn round_trip<W: Wires<Payload> + Send>(
    micro: &mut Micro,
    who: &str,
    (threads, depth): (usize, usize),
    make: Make<Instant, W>,
) {
    let name = format!("round_trip {threads} threads, depth {depth}");
    let program = Program::new(name, (threads * (threads - 1)) as u64 * CALLS).on(threads);
    micro.histogram(&program, who, |count| {
        let part = |node| {
            let work = move || {
                let mut all = times();
                call_everyone(node, threads, count * CALLS, Instant::now, |sent| {
                    let nanos = u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    all.saturating_record(nanos);
                });
                all
            };
            Box::new(work) as Box<dyn FnOnce() -> Times + Send>
        };
        let (took, found) = together(make(threads, depth).into_iter().map(part).collect());
        let mut all = times();
        found.iter().for_each(|one| all.add(one).expect("their bounds are the same"));
        (took, all)
    });
}

/// Calls each of the other `nodes` `count` times, as deep as is allowed, and answers as many calls.
fn call_everyone<U, W: Wires<Payload>>(
    mut node: Node<Payload, U, W>,
    nodes: usize,
    count: u64,
    keep: impl Fn() -> U,
    mut replied: impl FnMut(U),
) {
    let peers: Vec<usize> = (0..nodes).filter(|peer| *peer != node.id()).collect();
    let mut missing: Vec<u64> = vec![count; peers.len()];
    let all = count * peers.len() as u64;
    let (mut answers, mut replies) = (0, 0);
    let mut patience = Patience::default();
    while answers < all || replies < all {
        for (&to, missing) in peers.iter().zip(&mut missing) {
            while *missing > 0 && node.call(to, [7; 32], keep()).is_ok() {
                *missing -= 1;
            }
        }
        node.flush();
        let before = answers + replies;
        while let Some(received) = node.poll() {
            match received {
                Received::Call(request) => {
                    let payload = request.payload;
                    node.reply(request, payload);
                    answers += 1;
                }
                Received::Reply { user_data, .. } => {
                    replied(user_data);
                    replies += 1;
                }
                Received::Notice { .. } | Received::Lost { .. } => {
                    unreachable!("nobody notifies, and nobody leaves unanswered")
                }
            }
        }
        if answers + replies == before {
            patience.wait();
        }
    }
}

fn few_active<W: Wires<Payload>>(micro: &mut Micro, who: &str, nodes: usize, make: Make<(), W>) {
    let program = Program::new(format!("few_active {nodes} nodes"), CALLS);
    let mut nodes = make(nodes, 1);
    micro.row(&program, who, |count| {
        let [asker, answerer, ..] = &mut nodes[..] else { unreachable!("there are two") };
        let clock = Instant::now();
        for _ in 0..count * CALLS {
            asker.call(1, [7; 32], ()).expect("it is answered each time");
            asker.flush();
            let Some(Received::Call(request)) = answerer.poll() else { panic!("it was called") };
            answerer.reply(request, [8; 32]);
            answerer.flush();
            assert!(matches!(asker.poll(), Some(Received::Reply { .. })), "it was answered");
        }
        clock.elapsed()
    });
}
