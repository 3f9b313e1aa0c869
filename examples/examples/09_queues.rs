//! The queues without actors: a ring, a group of threads that call each other, and a coordinator.
//!
//! ```text
//! cargo run --example 09_queues
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::queue::coordinator::{Coordinator, InvokeResult, MailboxIndex, Registered};
use greenroom::queue::exchange::{Node, Received, Wires};
use greenroom::queue::{flux, mesh, spsc};
use std::thread;
use std::time::Duration;

const NUMBERS: u64 = 100_000;
const DOUBLES: u64 = 2_000;

/// Streams numbers through a ring, 64 per flush.
fn stream() -> u64 {
    let (mut sender, mut receiver) = spsc::channel(1024);
    let producer = thread::spawn(move || {
        for number in 1..=NUMBERS {
            let mut next = number;
            while let Err(error) = sender.write(next) {
                next = error.into_inner();
                thread::yield_now();
            }
            if number % 64 == 0 && sender.flush().is_err() {
                return;
            }
        }
    }); // leaving flushes the rest
    let mut sum = 0;
    loop {
        match receiver.try_recv() {
            Ok(number) => sum += number,
            Err(spsc::TryRecvError::Empty) => thread::yield_now(),
            Err(spsc::TryRecvError::Disconnected) => break,
        }
    }
    assert!(producer.join().is_ok());
    sum
}

/// Asks the second node of a group to double numbers, as many at a time as the depth allows.
fn double_all<W>(mut nodes: Vec<Node<u64, u64, W>>) -> u64
where
    W: Wires<u64> + Send + 'static,
{
    let (Some(mut server), Some(mut client)) = (nodes.pop(), nodes.pop()) else { return 0 };
    let serving = thread::spawn(move || {
        while !server.has_left(0) {
            match server.poll() {
                Some(Received::Call(request)) => {
                    let double = request.payload * 2;
                    server.reply(request, double);
                }
                Some(_) => {}
                None => thread::yield_now(),
            }
        }
    });
    let (mut next, mut answered, mut sum) = (0, 0, 0);
    while answered < DOUBLES {
        while next < DOUBLES && client.call(1, next, next).is_ok() {
            next += 1;
        }
        match client.poll() {
            Some(Received::Reply { user_data, payload, .. }) => {
                assert_eq!(payload, user_data * 2);
                sum += payload;
                answered += 1;
            }
            Some(_) => {}
            None => thread::yield_now(),
        }
    }
    // The server ends when its client has left.
    drop(client);
    assert!(serving.join().is_ok());
    sum
}

/// Runs a mailbox that gets more work while it runs, fails, and is retried later.
fn coordinate() -> usize {
    let coordinator = Coordinator::locked(8);
    let mailbox = MailboxIndex { slot: 5, generation: 0 };
    let (mut batch, mut runs) = (Vec::with_capacity(8), 0);

    assert_eq!(coordinator.register_ready(mailbox), Registered::Queued);
    assert_eq!(coordinator.register_ready(mailbox), Registered::Known);
    runs += coordinator.drain_ready_cycle(8, &mut batch);
    assert_eq!(coordinator.register_ready(mailbox), Registered::Noted);
    let done = InvokeResult::Completed { ready_hint: false };
    coordinator.handle_invoke_result(mailbox, done, Duration::ZERO);

    runs += coordinator.drain_ready_cycle(8, &mut batch);
    let failed = InvokeResult::Failed { retry_after: Some(Duration::from_secs(1)) };
    coordinator.handle_invoke_result(mailbox, failed, Duration::ZERO);
    assert_eq!(coordinator.drain_ready_cycle(8, &mut batch), 0, "not yet");
    assert_eq!(coordinator.resume_due(Duration::from_secs(1)), 1);
    runs + coordinator.drain_ready_cycle(8, &mut batch)
}

fn main() {
    let sum = stream();
    println!("{NUMBERS} numbers came through the ring, their sum is {sum}");
    assert_eq!(sum, NUMBERS * (NUMBERS + 1) / 2);

    for (name, sum) in
        [("rings", double_all(flux::nodes(2, 64))), ("inboxes", double_all(mesh::nodes(2, 64)))]
    {
        println!("{DOUBLES} numbers were doubled over {name}, their sum is {sum}");
        assert_eq!(sum, DOUBLES * (DOUBLES - 1));
    }

    let runs = coordinate();
    println!("the mailbox ran {runs} times");
    assert_eq!(runs, 3);
}
