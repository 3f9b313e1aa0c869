//! Gathers what is wrong, so that one compilation reports all of it.

use std::fmt::Display;

use proc_macro2::TokenStream;
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

    /// Says whether there is nothing so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Notes what was found apart from these.
    pub(crate) fn append(&mut self, others: Self) {
        if let Some(error) = others.0 {
            self.add(error);
        }
    }

    /// Notes the error of a result, and returns its value.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Returns what the compiler is to print.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(Error::into_compile_error)
    }

    /// Returns all mistakes as one error, or `value` where there were none.
    pub(crate) fn or<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
