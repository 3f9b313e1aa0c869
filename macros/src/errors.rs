//! Gathers what is wrong, so that one compilation reports all of it.

use std::fmt::Display;

use quote::ToTokens;
use syn::Error;

/// Every mistake found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    /// Notes a mistake at the given tokens.
    pub(crate) fn push(&mut self, at: impl ToTokens, message: impl Display) {
        self.add(Error::new_spanned(at, message));
    }

    /// Notes a mistake that has been described already.
    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Returns all mistakes as one error, or `value` where there were none.
    pub(crate) fn or<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
