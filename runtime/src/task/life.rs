//! Where in its life an actor is.

/// Notes of the layer above, kept in its cell because there is room.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// Where in its life the actor is.
    pub(crate) phase: u8,
    /// How the incarnation ends; zero while it does not.
    pub(crate) ending: u8,
    /// How the actor ends whatever follows; zero while that is open.
    pub(crate) last: u8,
    /// Whether the stop hook is to run.
    pub(crate) hook: bool,
    /// What has ever been so, as [`Life::BORN`] and [`Life::PARENTAL`]; and what the stage of the cell holds, as
    /// [`Life::ARGS`] and [`Life::LIVE`].
    pub(crate) ever: u8,
    /// Why the layer above is asked before each message, as bits of its own; zero if it is not.
    pub(crate) attended: u8,
    /// What has happened of late, as [`Life::HEARD`] and [`Life::CALLED`].
    pub(crate) lately: u8,
    /// Of an actor that stands in for another node's, when it has ended: the code of why its mail was not sent.
    pub(crate) unsent: u8,
    /// Incarnations that are over: what one of them began does not reach a later one.
    pub(crate) incarnation: u32,
}

impl Life {
    /// In [`Life::ever`]: an incarnation has started.
    pub(crate) const BORN: u8 = 1;
    /// In [`Life::ever`]: it has had children.
    pub(crate) const PARENTAL: u8 = 2;

    /// In [`Life::ever`]: the stage holds start arguments.
    pub(crate) const ARGS: u8 = 4;
    /// In [`Life::ever`]: the stage holds the actor.
    pub(crate) const LIVE: u8 = 8;
    const STAGE: u8 = Self::ARGS | Self::LIVE;

    /// In [`Life::lately`]: a user's message was handled since the layer above was asked.
    pub(crate) const HEARD: u8 = 1;
    /// In [`Life::lately`]: what was handled last was a signal, so a message goes before the next one. What the runner
    /// knows better, it notes when its turn is over and before the layer above is asked.
    pub(crate) const CALLED: u8 = 2;

    /// Whether that has happened of late; it is forgotten.
    pub(crate) fn take_lately(&mut self, flag: u8) -> bool {
        let has = self.lately & flag != 0;
        self.lately &= !flag;
        has
    }

    /// What the stage of the cell holds; zero for nothing.
    pub(crate) fn stage(&self) -> u8 {
        self.ever & Self::STAGE
    }

    /// Notes what the stage of the cell holds, and returns what it held.
    pub(crate) fn swap_stage(&mut self, holds: u8) -> u8 {
        let held = self.stage();
        self.ever = self.ever & !Self::STAGE | holds;
        held
    }

    pub(crate) fn has_ever(&self, flag: u8) -> bool {
        self.ever & flag != 0
    }
}
