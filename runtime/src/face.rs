//! The crate's public face: every item has one path for users.

pub use crate::actor::{
    Actor, Ask, AskCycle, AskError, Asked, Behavior, Calls, Checked, Context, Cut, CycleMember,
    Down, EmitError, Emitter, Flat, Forward, Group, Handle, HandleAsync, HeapBytes, Holds,
    Interleaved, Interleaves, Items, Keyed, Message, MigrateError, Options, Plain, Pool, Protocol,
    Published, Receive, Recipient, Ref, Reply, Resize, Restart, RestartKind, Routing, Shutdown,
    Spawn, SpawnError, StartError, StashError, Stashes, State, States, Step, Strategy, Supervise,
    Supervision, Supervisor, TaskId, Tell, TellError, TellWithin, TimerId, Told, Topic, WatchId,
    Workers,
};
pub use crate::event::{
    ActorId, Counts, DeadLetter, DeadLetterReason, DeadLetters, Event, EventStream, ExitReason,
    Quantity, Subscription, Undelivered,
};
pub use crate::mailbox::{Full, Mailbox, Pressure, SystemPressure};
pub use crate::scheduler::{Batch, Origin, ReadyQueue, WorkerId};
pub use crate::system::{
    BuildError, Builder, BusyError, Config, FindError, Idle, Scheduler, ShutdownError, System,
};
pub use crate::task::{Hint, Priority, Ready};
// The derive of events goes with their trait.
pub use greenroom_macros::{Actor, Message, States, handlers, main, test};

/// For tests of what plugs into a system.
pub mod testing {
    pub use crate::scheduler::ready_queue_conforms;
}

/// For the macros only: nothing here is stable.
#[doc(hidden)]
pub mod __private {
    pub use crate::actor::heap::{Known, Part, Shallow, Unknown};
    pub use crate::actor::{
        Actor, Ask, Asking, AskingFlat, Async, AsyncMethod, AsyncMethodOf,
        AsyncMethodOfWithContext, AsyncMethodWithContext, AsyncWithContext, Behavior, ByAsync,
        ByMacro, BySync, Calls, Context, Flat, Forwarding, Holds, Interleaved, Interleaves, Keep,
        LocalCall, Message, NoValue, Options, Plain, Protocol, PutsAside, Receive, Recipient,
        Reply, Restart, Shutdown, StartError, Started, Starting, Stashes, State, States, Step,
        Supervision, Supervisor, Sync, SyncWithContext, Tell, Telling, TellingWithin, Told, apart,
        assert_answer, assert_argument, hold_back, interleave, limit_actor, limit_answer,
        limit_arguments, limit_message, portable, put_aside, report_refused, while_asked,
    };
    pub use crate::event::ExitReason;
    #[cfg(all(feature = "journal", not(shuttle)))]
    pub use crate::journal;
    pub use crate::mailbox::{Full, Mailbox};
    #[cfg(all(feature = "net", not(shuttle)))]
    pub use crate::net;
    pub use crate::system::{System, run, run_with_system};
    pub use crate::task::Priority;
}
