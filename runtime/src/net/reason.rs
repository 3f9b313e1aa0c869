//! Why an actor ended, as bytes.

use crate::event::ExitReason;

/// Number and text of a reason, as in the table of [ENV-2].
pub(super) fn written(reason: &ExitReason) -> (u8, String) {
    let text = |text: &String| text.clone();
    match reason {
        ExitReason::Stopped => (1, String::new()),
        ExitReason::Drained => (2, String::new()),
        ExitReason::Killed => (3, String::new()),
        ExitReason::Panicked(why) => (4, text(why)),
        ExitReason::Failed(why) => (5, text(why)),
        ExitReason::StartFailed(why) => (6, text(why)),
        ExitReason::NotPersisted(why) => (7, text(why)),
        ExitReason::Fenced => (8, String::new()),
        ExitReason::NoActor => (9, String::new()),
        ExitReason::Restarted
        | ExitReason::Linked { .. }
        | ExitReason::TooManyRestarts { .. }
        | ExitReason::NodeDown => (10, reason.to_string()),
    }
}

/// The reason that a number and a text stand for; `None` for a number that stands for nothing.
pub(super) fn read(how: u8, text: &str) -> Option<ExitReason> {
    let text = text.to_owned();
    Some(match how {
        1 => ExitReason::Stopped,
        2 => ExitReason::Drained,
        3 => ExitReason::Killed,
        4 => ExitReason::Panicked(text),
        5 | 10 => ExitReason::Failed(text),
        6 => ExitReason::StartFailed(text),
        7 => ExitReason::NotPersisted(text),
        8 => ExitReason::Fenced,
        9 => ExitReason::NoActor,
        _ => return None,
    })
}
