//! What a system shares by type and name: groups, topics, and whatever else is found that way.

use crate::sync::Mutex;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;

/// Handles by type and name; each is made when it is first asked for, and kept.
#[derive(Debug)]
pub(crate) struct Shared(Mutex<BTreeMap<(TypeId, String), Box<dyn Any + Send>>>);

impl Shared {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The handle of that type and name, a new one if there is none.
    pub(crate) fn get<T: Clone + Default + Send + 'static>(&self, name: &str) -> T {
        let mut shared = self.0.lock();
        let entry = shared.entry((TypeId::of::<T>(), name.to_owned()));
        let any = entry.or_insert_with(|| Box::new(T::default()));
        any.downcast_ref::<T>().expect("the key has the type").clone()
    }
}
