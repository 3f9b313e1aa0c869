//! One connection to one node: an actor that receives, and ends after the proxies.
//!
//! ```text
//! association                proxies --post--> outlet --> link
//!   session <------ frames of the peer --------------------+
//!   task: pump --- backlog, room ----------------^
//! ```
//!
//! The link wakes the association, which takes frames in its turn, so no handler of it ever waits. All of the
//! connection lives on one worker, where actors live on one each: what is sent from there to an actor arrives in
//! that order, and an end does not overtake the messages before it.
//!
//! The session ends first, then the proxies, whose watchers are told by then, and then this actor. Whoever waits
//! for its end knows that nothing of the connection is left.

use super::looking::Looking;
use super::node::Shared;
use super::outlet::Outlet;
use super::remote::{NoCalls, Nothing};
use super::session::{MESSAGES_PER_TURN, Session, Turn};
use crate::actor::{Actor, Behavior, ByMacro, Context, Protocol, Receive, StartError, Step};
use crate::event::ExitReason;
use crate::sync::Arc;
use std::future::{Future, Ready, poll_fn};
use std::task::Waker;

/// See the [module](self).
pub(super) struct Association {
    outlet: Arc<Outlet>,
    /// `None` when the connection has ended.
    session: Option<Session>,
    /// Wakes `looking`.
    waker: Waker,
    looking: Arc<Looking>,
}

/// What a connection starts from.
pub(super) struct Connection {
    pub(super) outlet: Arc<Outlet>,
    pub(super) node: Arc<Shared>,
}

impl Actor for Association {}

impl Protocol for Association {
    type Message = Nothing;
    type Calls = NoCalls<Nothing>;
}

impl Behavior for Association {
    type Args = Connection;

    fn start<'a>(
        args: Connection,
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        let Connection { outlet, node } = args;
        let (looking, waker) = Looking::new(cx.caller(Self::look));
        waker.wake_by_ref();
        outlet.set_receiver(&waker);
        let pumped = outlet.clone();
        cx.task(async move { poll_fn(|cx| pumped.poll_pump(cx)).await });
        let session = Some(Session::new(outlet.clone(), node, &waker));
        Step::<_, Ready<_>>::Done(Ok(Self { outlet, session, waker, looking }))
    }

    fn stop<'a>(
        &'a mut self,
        _reason: &'a ExitReason,
        _cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        self.session = None;
        // Those who watch a proxy are told before there is another connection to the node.
        Step::Later(self.outlet.proxies_ended())
    }
}

impl Association {
    /// Takes the frames that have come.
    fn look(&mut self, (): (), cx: &mut Context<Self>) {
        self.looking.begin();
        let Some(session) = &mut self.session else { return };
        session.take_news();
        let mut taken = 0;
        while taken < MESSAGES_PER_TURN {
            match session.turn(&mut std::task::Context::from_waker(&self.waker)) {
                Turn::Went(messages) => taken += messages,
                Turn::Waits => return,
                Turn::Ended => {
                    // The proxies are told why they end before they are stopped with this actor.
                    self.session = None;
                    return cx.stop();
                }
            }
        }
        self.waker.wake_by_ref();
    }
}

impl Receive<Nothing, ByMacro> for Association {
    fn receive<'a>(
        &'a mut self,
        message: Nothing,
        _cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        message.handled()
    }
}
