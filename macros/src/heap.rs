//! `Message::heap_bytes`: what the parts of a message own on the heap, added up.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

/// The method's body, where `pattern` of `*self` binds each of `parts` by reference; an arm for each variant.
pub(crate) fn arm(runtime: &TokenStream, pattern: &TokenStream, parts: &[&Ident]) -> TokenStream {
    // As many references as there are answers to be tried.
    quote!(#pattern => 0_usize #(.saturating_add((&&&#runtime::Part(#parts)).greenroom_heap_bytes()))*,)
}

/// The method.
pub(crate) fn method(runtime: &TokenStream, arms: &TokenStream) -> TokenStream {
    quote! {
        #[allow(
            clippy::needless_borrow, unreachable_code, unused_imports,
            reason = "which of the traits is used depends on the types of the parts"
        )]
        fn heap_bytes(&self) -> usize {
            use #runtime::{Known as _, Shallow as _, Unknown as _};
            match *self { #arms }
        }
    }
}
