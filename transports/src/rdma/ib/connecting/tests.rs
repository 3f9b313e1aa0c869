use super::*;
use std::sync::mpsc;
use std::time::Duration;

fn made<T>(apart: Apart<T>) -> Result<T, ConnectError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(apart)
}

/// A thread whose stack is larger than the memory that there are addresses for.
fn not_to_be_had() -> Builder {
    Builder::new().stack_size(1 << 60)
}

/// Nor does it take a runtime to begin.
// [RDMA-51]
#[test]
fn where_no_thread_can_be_made_the_queue_pair_is_not_connected_and_goes() {
    let (held, is_gone) = mpsc::channel::<()>();
    let apart = Apart::on(not_to_be_had(), move || Ok(held));
    assert_eq!(is_gone.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    let refused = made(apart);
    assert!(matches!(refused, Err(ConnectError::System(_))), "{refused:?}");
}

// [RDMA-51]
#[test]
fn a_thread_connects_and_who_does_not_wait_leaves_it_there() {
    assert_eq!(made(Apart::on(Builder::new(), || Ok(7))).expect("it is made"), 7);

    let ((begin, begins), (held, is_gone)) = (mpsc::channel::<()>(), mpsc::channel::<()>());
    let apart = Apart::on(Builder::new(), move || {
        begins.recv().expect("the test goes on");
        Ok(held)
    });
    drop(apart);
    assert_eq!(is_gone.try_recv(), Err(mpsc::TryRecvError::Empty), "the thread has it");
    begin.send(()).expect("it was not waited for");
    let gone = is_gone.recv_timeout(Duration::from_secs(100));
    assert_eq!(gone, Err(mpsc::RecvTimeoutError::Disconnected), "it is destroyed there");
}

#[test]
fn a_thread_that_panics_connects_nothing() {
    let apart = Apart::<()>::on(Builder::new(), || panic!("for the test"));
    let lost = made(apart);
    assert!(matches!(lost, Err(ConnectError::System(_))), "{lost:?}");
}
