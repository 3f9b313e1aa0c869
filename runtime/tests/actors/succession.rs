//! What follows an incarnation comes after its tasks.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, SCHEDULINGS, everywhere, scheduled, soon, until};
use greenroom::sim::Explore;
use greenroom::{Actor, Context, Keyed, Ref, System, handlers};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use tokio::sync::{mpsc, oneshot};

/// What one at a time can have.
#[derive(Default)]
struct Port {
    is_taken: AtomicBool,
    /// How often it was taken from somebody.
    clashes: AtomicU32,
}

/// Has the port until it is dropped.
struct Bound(Arc<Port>);

impl Bound {
    fn to(port: &Arc<Port>) -> Self {
        port.clashes.fetch_add(u32::from(port.is_taken.swap(true, SeqCst)), SeqCst);
        Self(Arc::clone(port))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.0.is_taken.store(false, SeqCst);
    }
}

/// Has tasks hold ports: one from its start on, one from when it fails, and one from its stop hook on.
#[derive(Actor)]
#[actor(restart = permanent(1000 in "1h"))]
struct Server {
    ports: [Arc<Port>; 3],
}

impl Server {
    fn hold(port: &Arc<Port>, cx: &mut Context<Self>) {
        let bound = Bound::to(port);
        cx.task(async move {
            let _bound = bound;
            pending::<()>().await;
        });
    }
}

#[handlers]
impl Server {
    #[start]
    fn start(ports: [Arc<Port>; 3], cx: &mut Context<Self>) -> Self {
        Self::hold(&ports[0], cx);
        Self { ports }
    }
    #[stop]
    fn stop(&mut self, cx: &mut Context<Self>) {
        Self::hold(&self.ports[2], cx);
    }
    #[tell]
    fn fall(&mut self, cx: &mut Context<Self>) {
        Self::hold(&self.ports[1], cx);
        panic!("as told")
    }
    #[tell]
    fn fail(&mut self, cx: &mut Context<Self>) {
        Self::hold(&self.ports[1], cx);
        cx.fail("as told");
    }
    #[tell]
    fn rest(&mut self, cx: &mut Context<Self>) {
        Self::hold(&self.ports[1], cx);
        cx.stop();
    }
    #[ask]
    fn number(&self, cx: &mut Context<Self>) -> u32 {
        cx.incarnation()
    }
    /// Lets a thread block until it is told.
    #[ask]
    fn block(&self, released: std::sync::mpsc::Receiver<()>, cx: &mut Context<Self>) {
        let work = cx.blocking(move || {
            let _ = released.recv();
        });
        cx.task(work);
    }
}

/// Ends incarnation after incarnation, in each way that another one follows.
async fn end_many(server: &Ref<Server>, ports: &[Arc<Port>; 3]) {
    for round in 0..30 {
        match round % 3 {
            0 => server.fall().await.unwrap(),
            1 => server.fail().await.unwrap(),
            _ => server.rest().await.unwrap(),
        }
        assert_eq!(server.number().within(LONG).await, Ok(round + 1));
    }
    server.stop();
    server.ended().await;
    let clashes = ports.each_ref().map(|port| port.clashes.load(SeqCst));
    assert_eq!(clashes, [0; 3], "nobody had it");
    assert!(ports.iter().all(|port| !port.is_taken.load(SeqCst)), "who ends has no tasks");
}

/// As a restarted actor, and as a virtual one.
async fn serve(system: &System) {
    let ports: [Arc<Port>; 3] = Default::default();
    let server = system.spawn::<Server>(ports.clone()).await.unwrap();
    end_many(&server, &ports).await;
    let ports: [Arc<Port>; 3] = Default::default();
    let args = ports.clone();
    let servers: Keyed<u32, Server> = system.keyed(move |_: &u32| args.clone());
    let server = servers.get(1).unwrap();
    assert_eq!(server.number().within(LONG).await, Ok(0));
    end_many(&server, &ports).await;
}

// [G-RESTART-1] [G-STREAM-2] [G-VIRTUAL-1]
#[test]
fn who_starts_finds_free_what_tasks_had_before() {
    everywhere(serve);
}

// [G-RESTART-1] [G-STREAM-2] [G-VIRTUAL-1]
#[test]
fn who_starts_in_a_world_finds_free_what_tasks_had_before() {
    Explore::new().seeds(60).allow_panics().run(|world| {
        let workers = 1 + world.pick(3);
        let scheduling = SCHEDULINGS[world.pick(SCHEDULINGS.len())];
        let node = world.node("one");
        let node = node.settings(move |builder| scheduled(builder.workers(workers), scheduling));
        let system = node.start().system();
        world.run(serve(&system));
    });
}

/// Has a task write, and waits for it before it ends.
#[derive(Actor)]
struct Scribe {
    lines: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

#[handlers]
impl Scribe {
    #[start]
    fn start(written: Arc<AtomicU32>, cx: &mut Context<Self>) -> Self {
        let (lines, mut to_write) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
        cx.task(async move {
            while let Some(done) = to_write.recv().await {
                written.fetch_add(1, SeqCst);
                let _ = done.send(());
            }
        });
        Self { lines }
    }
    #[stop]
    async fn stop(&mut self) {
        let (done, is_done) = oneshot::channel();
        self.lines.send(done).unwrap();
        is_done.await.unwrap();
    }
}

// [G-STREAM-2]
#[test]
fn a_task_goes_on_until_the_stop_hook_is_over() {
    everywhere(async |system| {
        let written = Arc::new(AtomicU32::new(0));
        let scribe = system.spawn::<Scribe>(Arc::clone(&written)).await.unwrap();
        scribe.stop();
        soon(scribe.ended()).await;
        assert_eq!(written.load(SeqCst), 1);
    });
}

// [G-RESTART-1] [G-STREAM-2]
#[test]
fn work_that_blocks_holds_up_neither_a_restart_nor_the_end() {
    everywhere(async |system| {
        let ports: [Arc<Port>; 3] = Default::default();
        let server = system.spawn::<Server>(ports.clone()).await.unwrap();
        let (release, released) = std::sync::mpsc::channel();
        server.block(released).await.unwrap();
        end_many(&server, &ports).await;
        drop(release);
        until(|| !system.leftovers().iter().any(|line| line.ends_with(" tasks"))).await;
    });
}
