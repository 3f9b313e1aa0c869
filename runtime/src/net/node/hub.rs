//! What a node does by itself: it accepts connections, and drives its transport.

use super::Shared;
use super::arrivals::accept;
use crate::actor::{Actor, Behavior, ByMacro, Context, Protocol, Receive, StartError, Step};
use crate::net::looking::Looking;
use crate::net::remote::{NoCalls, Nothing};
use crate::net::transport::Drive;
use crate::sync::Arc;
use crate::task::core::{Alarm, AlarmKey};
use crate::task::current;
use crate::time::Time;
use std::future::{Future, Ready};
use std::task::{self, Waker};
use std::time::Duration;

/// Says when it is dropped that the transport has nothing to do any more, to other nodes, too.
struct Rests(Arc<Shared>);

impl Drop for Rests {
    fn drop(&mut self) {
        self.0.transport.depart();
        *self.0.rests.lock() = true;
        self.0.tell_change();
    }
}

/// The actor at the top that accepts connections and drives the transport as long as the system lives.
///
/// It drives in turns of its own, as the actors on both ends of its frames have theirs: what came, what is said to
/// it, and what leaves go from turn to turn without a look at the kernel in between.
pub(super) struct Hub {
    node: Arc<Shared>,
    /// `None` when the transport has nothing to do any more.
    driving: Option<Driving>,
}

struct Driving {
    looking: Arc<Looking>,
    /// Wakes `looking`.
    waker: Waker,
    alarm: Option<(Time, AlarmKey)>,
    /// Also if it is given up because the system ends.
    rests: Rests,
}

impl Hub {
    /// Lets the transport do its work, as long as it has some.
    fn drive(&mut self, (): (), _cx: &mut Context<Self>) {
        let Some(driving) = &mut self.driving else { return };
        driving.looking.begin();
        let core = self.node.system.core();
        let now = core.clock.now();
        let mut cx = task::Context::from_waker(&driving.waker);
        let until = match self.node.transport.drive(&mut cx, Duration::from_nanos(now.0)) {
            Drive::Until(until) => until.map_or(Time::NEVER, |until| Time(0).after(until)),
            Drive::Ended => return self.driving = None,
        };
        // An alarm that goes off too early costs one look; most times move on before they come.
        if driving.alarm.as_ref().is_none_or(|(due, _)| until < *due || *due <= now) {
            driving.alarm.take().into_iter().for_each(|(_, key)| core.cancel_alarm(key));
            if until != Time::NEVER {
                let alarm = Alarm::Wake(driving.waker.clone());
                driving.alarm = Some((until, core.set_alarm(until, alarm)));
            }
        }
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        // It would keep all that it wakes, which keeps the system.
        if let Some((_, key)) = self.alarm.take() {
            self.rests.0.system.core().cancel_alarm(key);
        }
    }
}

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
        let drive = cx.caller(Self::drive);
        let (looking, waker) = Looking::new(move |()| {
            current::hear();
            drive(());
        });
        waker.wake_by_ref();
        let driving = Driving { looking, waker, alarm: None, rests: Rests(node.clone()) };
        Step::<_, Ready<_>>::Done(Ok(Self { node, driving: Some(driving) }))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.node.transport.close();
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
