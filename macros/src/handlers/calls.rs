//! The typed callers: one method for each handler.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Expr, Ident, Lit, LitStr, Meta, MetaNameValue};

use super::model::{Block, Handler, Kind};
use super::types;
use crate::spans;

pub(crate) fn expand(block: &Block, runtime: &TokenStream) -> TokenStream {
    let (message, calls) = (&block.names.message, &block.names.calls);
    let generics = &block.generics;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let methods = block.handlers.iter().map(|handler| method(handler, block, runtime));
    let lints = &block.lints;
    let text = calls.to_string();
    let doc = format!("The handlers of `{}`, as its callers see them.", block.name());
    quote! {
        #[doc = #doc]
        #[allow(
            deprecated, private_bounds, private_interfaces, unnameable_types, unreachable_pub,
            reason = "how far it is visible depends on where the actor is declared"
        )]
        pub struct #calls #generics (#runtime::Recipient<#message #ty_generics>) #where_clause;

        #[automatically_derived]
        #[allow(deprecated, reason = "that is said where somebody uses it")]
        impl #impl_generics ::core::clone::Clone for #calls #ty_generics #where_clause {
            fn clone(&self) -> Self {
                Self(::core::clone::Clone::clone(&self.0))
            }
        }

        #[automatically_derived]
        #[allow(deprecated, reason = "that is said where somebody uses it")]
        impl #impl_generics ::core::fmt::Debug for #calls #ty_generics #where_clause {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Formatter::debug_struct(f, #text).finish_non_exhaustive()
            }
        }

        #[automatically_derived]
        #[allow(deprecated, reason = "that is said where somebody uses it")]
        impl #impl_generics #runtime::Calls for #calls #ty_generics #where_clause {
            type Message = #message #ty_generics;

            fn from_recipient(recipient: #runtime::Recipient<Self::Message>) -> Self {
                Self(recipient)
            }

            fn recipient(&self) -> &#runtime::Recipient<Self::Message> {
                &self.0
            }
        }

        #[allow(
            dead_code, deprecated, private_interfaces, unreachable_pub,
            clippy::too_many_arguments,
            reason = "these repeat the handlers, and not every caller is written yet"
        )]
        #[allow(
            rustdoc::private_intra_doc_links,
            reason = "what a handler says links to what there is beside it"
        )]
        #(#lints)*
        impl #impl_generics #calls #ty_generics #where_clause {
            #(#methods)*
        }
    }
}

fn method(handler: &Handler, block: &Block, runtime: &TokenStream) -> TokenStream {
    let Handler { variant, cfgs, docs, fields, lints, .. } = handler;
    let message = &block.names.message;
    let (_, ty_generics, _) = block.generics.split_for_impl();
    let name = spans::generated(&handler.method.name);
    let names: Vec<_> = fields.iter().map(|field| &field.name).collect();
    let parts = fields.iter().map(|field| &field.ty);
    let (output, body) = match &handler.kind {
        Kind::Tell => (
            quote!(#runtime::Tell<'_, #message #ty_generics>),
            quote!(self.0.tell(#message::#variant { #(#names,)* })),
        ),
        Kind::Ask { reply: field, gives, .. } => {
            let answer = block.answer(handler);
            let flat = handler.method.output.as_ref().is_some_and(types::is_result);
            // Of this expansion alone, so that an argument may have the same name.
            let reply = Ident::new("reply", Span::mixed_site());
            let message_of = quote!(#message::#variant { #(#names,)* #field: #reply });
            // Whoever is given the reply may hand it on, so that others can answer.
            let ask = if *gives { quote!(call) } else { quote!(question) };
            let ask = quote!(self.0.#ask(|#reply| #message_of));
            // At the type, which may be somebody's own `Result<..>`.
            let flatten = || spans::relocate(quote!(#ask.flat()), handler.method.span());
            let ask = if flat { flatten() } else { ask };
            let shape = flat.then(|| quote!(, #runtime::Flat));
            (quote!(#runtime::Ask<'_, #message #ty_generics, #answer #shape>), ask)
        }
    };
    if handler.method.is_wrong {
        let parts = handler.method.values().map(|_| quote!(_: impl ::core::marker::Sized));
        return quote!(#(#cfgs)* pub fn #name(&self #(, #parts)*) -> #output { ::core::unreachable!() });
    }
    let doc = default_doc(handler, block);
    let docs = docs.iter().map(|attr| linked(attr, block));
    quote! {
        #(#cfgs)*
        #doc
        #(#docs)*
        #(#lints)*
        pub fn #name(&self #(, #names: #parts)*) -> #output {
            #body
        }
    }
}

/// Has what a handler says link to the actor, where that has what the callers have not.
fn linked(attr: &Attribute, block: &Block) -> Attribute {
    let mut attr = attr.clone();
    if let Meta::NameValue(MetaNameValue { value: Expr::Lit(literal), .. }) = &mut attr.meta
        && let Lit::Str(text) = &mut literal.lit
        && text.value().contains("Self::")
    {
        *text = LitStr::new(&without_self(&text.value(), block), text.span());
    }
    attr
}

fn without_self(text: &str, block: &Block) -> String {
    let mut parts = text.split("Self::");
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let is_caller = block.handlers.iter().any(|handler| handler.text() == name);
        let is_elsewhere = begins_link(&replaced) && !is_caller;
        let of = if is_elsewhere { block.path() } else { "Self".to_owned() };
        replaced.extend([&of, "::", part]);
    }
    replaced
}

/// Whether what follows is where a link goes to: `[..]`, `](..)` or `]: ..`, with or without its kind as in `fn@`.
fn begins_link(text: &str) -> bool {
    let text = match text.strip_suffix('@') {
        Some(text) => text.trim_end_matches(char::is_alphabetic),
        None => text,
    };
    let text = text.trim_end_matches(['`', '<', ' ']);
    ["[", "](", "]:"].iter().any(|link| text.ends_with(link))
}

/// Documents a caller whose handler is not.
fn default_doc(handler: &Handler, block: &Block) -> Option<TokenStream> {
    // Others, such as `#[doc(alias = "..")]`, say something of it beside.
    let is_text =
        |attr: &Attribute| attr.path().is_ident("doc") && attr.meta.require_name_value().is_ok();
    if handler.docs.iter().any(is_text) {
        return None;
    }
    let (actor, method) = (block.name(), handler.text());
    let doc = match &handler.kind {
        Kind::Tell => format!("Tells `{actor}::{method}`, and does not wait until it is handled."),
        Kind::Ask { .. } => format!("Asks `{actor}::{method}`, and waits for the answer."),
    };
    Some(quote!(#[doc = #doc]))
}
