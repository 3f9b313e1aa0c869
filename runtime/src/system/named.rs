//! What is found by a name: actors that are started if need be, groups, and topics.

use super::handle::System;
use crate::actor::{Behavior, Group, Keyed, Protocol, Ref, SpawnError, Topic, find_or_spawn};

impl System {
    /// The actor with a name, which is started at the top of the system if there is none.
    ///
    /// Of those who call this at once, exactly one starts the actor, and all get it; whoever finds it
    /// may get it before its start hook is done. While the one with the name is ending, this waits for
    /// that, and then starts another: in a hook of that very actor, or of a child of it, it would wait for ever.
    /// `args` are dropped where an actor is found.
    ///
    /// # Errors
    /// [`SpawnError::NameTaken`] when an actor of another type has the name; and those of a spawn.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, System, handlers};
    ///
    /// #[derive(Actor)]
    /// struct Log {
    ///     lines: Vec<String>,
    /// }
    ///
    /// #[handlers]
    /// impl Log {
    ///     #[tell]
    ///     fn write(&mut self, line: String) {
    ///         self.lines.push(line);
    ///     }
    ///     #[ask]
    ///     fn count(&self) -> usize {
    ///         self.lines.len()
    ///     }
    /// }
    ///
    /// #[greenroom::main]
    /// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    ///     for line in ["one", "two"] {
    ///         let log = system.find_or_spawn::<Log>("log", Log { lines: Vec::new() }).await?;
    ///         log.write(line.to_owned()).await?;
    ///     }
    ///     assert_eq!(system.find::<Log>("log")?.count().await?, 2);
    ///     Ok(())
    /// }
    /// ```
    pub async fn find_or_spawn<A: Behavior>(
        &self,
        name: impl Into<String>,
        args: A::Args,
    ) -> Result<Ref<A>, SpawnError> {
        find_or_spawn(self.core().clone(), name.into(), args).await
    }

    /// Virtual actors, one for each key; see [`Keyed`]. `args` makes what the start hook takes, each
    /// time that the actor of a key starts. Every call makes a set of actors of its own: clone the
    /// value to share it.
    pub fn keyed<K, A>(&self, args: impl Fn(&K) -> A::Args + Send + Sync + 'static) -> Keyed<K, A>
    where
        K: Ord + Clone + Send + Sync + 'static,
        A: Behavior,
    {
        Keyed::new(self.core().clone(), args)
    }

    /// The group of that name and type; see [`Group`]. Kept until the system ends.
    #[must_use]
    pub fn group<P: Protocol>(&self, name: &str) -> Group<P> {
        self.core().shared.get(name)
    }

    /// The topic of that name and type; see [`Topic`]. Kept until the system ends.
    #[must_use]
    pub fn topic<T: Clone + Send + 'static>(&self, name: &str) -> Topic<T> {
        self.core().shared.get(name)
    }
}
