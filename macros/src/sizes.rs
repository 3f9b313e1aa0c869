//! Checks that the compiler makes of sizes that are known.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::spans;

/// Has the compiler call `check`, and show what it finds at `span`.
pub(crate) fn check(check: TokenStream, span: Span) -> TokenStream {
    let check = spans::relocate(check, span);
    quote!(const _: () = #check;)
}
