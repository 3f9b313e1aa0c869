//! Which messages are put aside, and when.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::attributes::{self, Stash};
use super::model::{Block, Handler, Kind};
use super::state;
use crate::spans;

/// Says for each message whether it is put aside; for actors that put none aside there is nothing to say.
pub(crate) fn expand(block: &Block, runtime: &TokenStream) -> Option<TokenStream> {
    let first = block.handlers.iter().find_map(|handler| handler.manner.stash.as_ref())?;
    let (actor, message) = (&block.actor, &block.names.message);
    let (impl_generics, ty_generics, where_clause) = block.generics.split_for_impl();
    let conditions = block.handlers.iter().filter_map(|handler| condition(handler, block, runtime));
    let stashed = block.handlers.iter().filter(|handler| handler.manner.stash.is_some());
    let refusals = stashed.filter_map(|handler| refusal(handler, message, runtime));
    // An actor without a stash is an error at the condition that needs one.
    let span = spans::located(match first {
        Stash::While(condition) => condition.span(),
        Stash::Elsewhere(attr) => attr.span(),
    });
    let puts_aside = spans::relocate(quote!(#runtime::PutsAside<#message #ty_generics>), span);
    let actor = spans::relocate(quote!(#actor), span);
    let (cfg, lints) = (cfg(block), &block.lints);
    Some(quote_spanned! {span=>
        #cfg
        #[automatically_derived]
        #[allow(
            unreachable_patterns, unused_variables, clippy::all,
            reason = "a condition need not use all it is lent"
        )]
        #(#lints)*
        impl #impl_generics #puts_aside for #actor #where_clause {
            fn puts_aside(&self, message: &#message #ty_generics) -> bool {
                match message {
                    #(#conditions)*
                    _ => false,
                }
            }

            fn refuse(message: #message #ty_generics) {
                match message {
                    #(#refusals)*
                    _ => {}
                }
            }
        }
    })
}

fn condition(handler: &Handler, block: &Block, runtime: &TokenStream) -> Option<TokenStream> {
    let message = &block.names.message;
    let Handler { variant, cfgs, fields, lints, .. } = handler;
    let condition = match handler.manner.stash.as_ref()? {
        Stash::While(condition) => quote!(#condition),
        Stash::Elsewhere(_) => {
            let is_in = state::is_in(block, handler.manner.state.as_ref()?, runtime);
            quote!(!#is_in)
        }
    };
    let names = fields.iter().map(|field| (&field.name, &field.written));
    let bindings = names.map(|(name, written)| quote!(#name: #written,));
    Some(quote!(#(#cfgs)* #(#lints)* #message::#variant { #(#bindings)* .. } => #condition,))
}

/// Has an asker know that its question is refused.
pub(crate) fn refusal(
    handler: &Handler,
    message: &syn::Ident,
    runtime: &TokenStream,
) -> Option<TokenStream> {
    let Handler { variant, cfgs, .. } = handler;
    let Kind::Ask { reply, .. } = &handler.kind else { return None };
    Some(quote! {
        #(#cfgs)* #message::#variant { #reply: reply, .. } => #runtime::Reply::refuse(reply),
    })
}

/// Has `receive` go on only with a message that is not put aside.
pub(crate) fn put_aside(block: &Block, runtime: &TokenStream) -> Option<TokenStream> {
    block.handlers.iter().find(|handler| handler.manner.stash.is_some())?;
    let done = done(block, runtime);
    let cfg = cfg(block);
    Some(quote! {
        #cfg
        let ::core::option::Option::Some(message) = #runtime::put_aside(&*self, message, cx) else {
            return #done;
        };
    })
}

/// Under which condition there is a message that is put aside, if that depends on one.
fn cfg(block: &Block) -> Option<TokenStream> {
    let stashed = block.handlers.iter().filter(|handler| handler.manner.stash.is_some());
    let conditions: Vec<_> = stashed
        .map(|handler| {
            let cfgs = handler.cfgs.iter().filter_map(|cfg| attributes::predicate(&cfg.meta));
            cfgs.collect::<Vec<_>>()
        })
        .collect();
    let is_always = conditions.iter().any(Vec::is_empty);
    (!is_always).then(|| quote!(#[cfg(any(#(all(#(#conditions),*)),*))]))
}

/// What `receive` returns when the message was dealt with at once.
pub(crate) fn done(block: &Block, runtime: &TokenStream) -> TokenStream {
    match block.handlers.iter().any(Handler::holds_and_waits) {
        true => quote!(#runtime::Step::Done(())),
        false => quote!(#runtime::Step::<(), ::core::future::Ready<()>>::Done(())),
    }
}
