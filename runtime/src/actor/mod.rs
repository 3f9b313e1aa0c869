//! Actors as their users write and see them.

mod address;
mod admission;
mod ask;
mod attention;
mod body;
mod burial;
#[cfg(not(shuttle))]
mod census;
mod context;
mod control;
mod cycle;
mod dispatch;
#[cfg(all(feature = "net", not(shuttle)))]
mod distant;
mod dormancy;
mod error;
mod expansion;
mod extras;
mod family;
mod forward;
mod group;
mod handling;
pub(crate) mod heap;
mod incarnation;
mod interleave;
mod items;
mod keyed;
mod life;
mod links;
mod local;
mod options;
mod parent;
mod phase;
mod pool;
mod reply;
mod restart;
mod revival;
mod room;
mod roster;
#[cfg(not(any(loom, shuttle)))]
mod sight;
mod signal;
mod silence;
mod size;
mod spawn;
mod stash;
mod state;
mod supervise;
mod supervision;
mod tasks;
mod tell;
mod timers;
mod topic;
mod traits;
mod tree;
mod until_end;
mod waiting;
mod wakeup;
mod watchers;

pub use address::{Recipient, Ref};
pub use ask::{Ask, Asked, Asking, AskingFlat, Flat, Plain};
pub use context::{Context, WatchId};
pub use cycle::{AskCycle, CycleMember};
pub use dispatch::{Told, apart};
pub use error::{AskError, MigrateError, SpawnError, StartError, StashError, TellError};
pub use expansion::{Keep, Started, assert_answer, assert_argument, portable};
pub use extras::Down;
pub use forward::{Forward, Forwarding};
pub use group::Group;
pub use heap::HeapBytes;
pub use interleave::{Interleaved, Interleaves, hold_back, interleave};
pub use items::{Checked, Cut, EmitError, Emitter, Items};
pub use keyed::Keyed;
pub use local::{
    Async, AsyncMethod, AsyncMethodOf, AsyncMethodOfWithContext, AsyncMethodWithContext,
    AsyncWithContext, LocalCall, NoValue, Sync, SyncWithContext,
};
pub use options::{Options, Restart, RestartKind};
pub use pool::{Pool, Resize, Routing, Workers};
pub use reply::{Reply, while_asked};
pub use size::{limit_actor, limit_answer, limit_arguments, limit_message};
pub use spawn::{Spawn, Starting};
pub use stash::{PutsAside, Stashes, put_aside};
pub use state::{Holds, State, States, report_refused};
pub use supervise::Supervise;
pub use supervision::{Shutdown, Strategy, Supervision, Supervisor};
pub use tasks::TaskId;
pub use tell::{Tell, TellWithin, Telling, TellingWithin};
pub use timers::TimerId;
pub use topic::{Published, Topic};
pub use traits::{
    Actor, Behavior, ByAsync, ByMacro, BySync, Calls, Handle, HandleAsync, Message, Protocol,
    Receive, Step,
};

pub(crate) use body::{describe_cell, family};
#[cfg(not(shuttle))]
pub(crate) use census::describe_all;
pub(crate) use control::{End, send_end};
#[cfg(all(feature = "net", not(shuttle)))]
pub(crate) use extras::Detour;
#[cfg(feature = "journal")]
pub(crate) use incarnation::Incarnation;
#[cfg(all(feature = "net", not(shuttle)))]
pub(crate) use items::Flow;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use sight::{Sight, look_into_lanes};
pub(crate) use spawn::{Owner, find_or_spawn};
