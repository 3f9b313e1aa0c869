//! What a node does by itself: it accepts connections, and drives its transport.

use super::{Connected, Shared};
use crate::actor::{Actor, Behavior, ByMacro, Context, Protocol, Receive, StartError, Step};
use crate::net::association::{Association, Connection};
use crate::net::outlet::Outlet;
use crate::net::remote::{NoCalls, Nothing};
use crate::net::transport::{Drive, Link};
use crate::sync::{Arc, planted};
use crate::task::core::{Alarm, AlarmKey};
use crate::time::Time;
use std::future::{Future, Ready, poll_fn};
use std::task::Poll;
use std::time::Duration;

/// Says when it is dropped that the transport has nothing to do any more, to other nodes, too.
struct Rests(Arc<Shared>);

impl Drop for Rests {
    fn drop(&mut self) {
        self.0.transport.depart();
        *self.0.rests.lock() = true;
        self.0.changed.notify_waiters();
    }
}

/// Lets the transport do its work, as long as it has some.
async fn work(node: Arc<Shared>) {
    // Also if it is given up because the system ends.
    let _rests = Rests(node.clone());
    let core = node.system.core();
    let mut alarm: Option<(Time, AlarmKey)> = None;
    poll_fn(|cx| {
        let now = core.clock.now();
        let until = match node.transport.drive(cx, Duration::from_nanos(now.0)) {
            Drive::Until(until) => until.map_or(Time::NEVER, |until| Time(0).after(until)),
            Drive::Ended => return Poll::Ready(()),
        };
        // An alarm that goes off too early costs one look; most times move on before they come.
        if alarm.as_ref().is_none_or(|(due, _)| until < *due || *due <= now) {
            alarm.take().into_iter().for_each(|(_, key)| core.cancel_alarm(key));
            if until != Time::NEVER {
                alarm = Some((until, core.set_alarm(until, Alarm::Wake(cx.waker().clone()))));
            }
        }
        Poll::Pending
    })
    .await;
}

/// Accepts connections, one after the other.
async fn accept(node: Arc<Shared>) {
    while let Some(link) = poll_fn(|cx| node.transport.poll_link(cx)).await {
        let peer = link.peer().node;
        // What is left of the old connection comes before anything of the new one.
        if planted!("net-old-not-retired": true => false) {
            node.retire(peer).await;
        }
        connect(&node, link);
    }
}

fn connect(node: &Arc<Shared>, link: Box<dyn Link>) {
    let peer = link.peer().node;
    let outlet = Arc::new(Outlet::new(link, node.clone()));
    let connection = Connection { outlet: outlet.clone(), node: node.clone() };
    // An error means that the system is ending; the link goes with the outlet.
    let spawn = node.system.spawn::<Association>(connection).on(outlet.worker());
    let Ok(actor) = spawn.start() else { return };
    let (shared, number) = (node.clone(), actor.id().number());
    node.connected.lock().insert(peer, Connected { outlet, actor: actor.clone() });
    actor.when_ended(move |_| shared.forget(peer, number));
    node.changed.notify_waiters();
}

/// The actor at the top that accepts connections and drives the transport as long as the system lives.
pub(super) struct Hub(Arc<Shared>);

impl Actor for Hub {}

impl Protocol for Hub {
    type Message = Nothing;
    type Calls = NoCalls<Nothing>;
}

impl Behavior for Hub {
    type Args = Arc<Shared>;

    fn start<'a>(
        node: Arc<Shared>,
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        cx.task(accept(node.clone()));
        cx.task(work(node.clone()));
        Step::<_, Ready<_>>::Done(Ok(Self(node)))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.0.transport.close();
    }
}

impl Receive<Nothing, ByMacro> for Hub {
    fn receive<'a>(
        &'a mut self,
        message: Nothing,
        _cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        message.handled()
    }
}
