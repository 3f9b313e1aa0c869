//! Which lints a derived impl leaves quiet.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, Meta, Token};

use crate::options;

/// Allows what is deprecated in an impl that repeats a type, if one of `attrs` says that the type is deprecated, or that
/// what it uses may be.
///
/// Otherwise what is deprecated there stands in the attribute of the derive, and nobody has allowed it.
pub(crate) fn deprecated<'a>(
    attrs: impl IntoIterator<Item = &'a Attribute>,
) -> Option<TokenStream> {
    attrs.into_iter().any(is_about_deprecated).then(always)
}

/// Allows what is deprecated in any case, where all of it is written elsewhere too.
pub(crate) fn always() -> TokenStream {
    quote!(#[allow(deprecated, reason = "that is said where somebody uses it")])
}

/// The attributes of the type, and those of its variants and fields.
pub(crate) fn attributes(input: &DeriveInput) -> impl Iterator<Item = &Attribute> {
    let inside = options::on_variants(&input.data).chain(options::on_fields(&input.data));
    input.attrs.iter().chain(inside)
}

fn is_about_deprecated(attr: &Attribute) -> bool {
    let path = attr.path();
    if !path.is_ident("allow") && !path.is_ident("expect") {
        return path.is_ident("deprecated");
    }
    let lints = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    lints.is_ok_and(|lints| lints.iter().any(|lint| lint.path().is_ident("deprecated")))
}
