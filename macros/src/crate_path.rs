//! Finds the runtime from wherever a macro is used.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// Returns the path of the module that holds everything generated code names.
///
/// It is absolute, and follows a dependency that `Cargo.toml` renames. A crate that reaches the
/// runtime through another one names no such dependency: `greenroom` is the best guess for it.
pub(crate) fn private() -> TokenStream {
    let name = match crate_name("greenroom") {
        Ok(FoundCrate::Name(name)) => name,
        // The runtime calls itself by its own name, through `extern crate self`.
        Ok(FoundCrate::Itself) | Err(_) => "greenroom".to_owned(),
    };
    let runtime = Ident::new(&name, Span::call_site());
    quote!(::#runtime::__private)
}
