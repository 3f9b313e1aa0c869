//! A paused node does nothing, however busy it was.

use greenroom::sim::Explore;
use greenroom::{Actor, Context, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SPAN: Duration = Duration::from_micros(20);

/// Always has something to do.
#[derive(Actor)]
struct Top(Arc<AtomicU64>);

#[handlers]
impl Top {
    #[tell]
    fn turn(&mut self, cx: &mut Context<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        let _ = cx.me().turn().tell();
    }
}

#[test]
fn a_paused_node_does_nothing_though_it_has_work() {
    Explore::new().seeds(20).twice().run(|world| {
        let turns = Arc::new(AtomicU64::new(0));
        let taken = || turns.load(Ordering::Relaxed);
        let node = world.node("busy").start();
        let top = Top(Arc::clone(&turns));
        let top = world.run(async { node.system().spawn::<Top>(top).await.expect("it starts") });
        top.turn().tell().expect("it lives");
        let of_task = Arc::clone(&turns);
        node.spawn(async move {
            loop {
                of_task.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        world.run_for(SPAN);
        let before = taken();
        node.pause();
        world.run_for(SPAN);
        assert_eq!(taken(), before, "it is paused");
        node.resume();
        world.run_for(SPAN);
        assert_ne!(taken(), before, "it goes on");
    });
}
