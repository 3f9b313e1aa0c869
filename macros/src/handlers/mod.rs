//! `#[handlers]`: from an inherent impl to a message enum, typed callers and the actor's behaviour.
//!
//! 1. [`parse`] takes the role attributes off the methods and checks each against its role; what it
//!    returns is a [`Block`](model::Block), which can be generated from without further errors.
//! 2. [`message`], [`calls`], [`receive`], [`behavior`] and [`stash`] each generate one part of it.
//!
//! The impl itself is always put back, also beside errors, so that they are not followed by others
//! about missing methods.

mod attributes;
mod behavior;
mod calls;
mod interleave;
mod message;
mod model;
mod names;
mod parse;
mod receive;
mod signature;
mod stash;
mod state;
mod types;

#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Ident, Item, ItemImpl};

use crate::{crate_path, options};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut item = match syn::parse2(item)? {
        Item::Impl(item) => item,
        other => {
            let message = "`#[handlers]` goes on the impl block of an actor: `impl Book { .. }`";
            return Err(Error::new_spanned(first_token(&other), message));
        }
    };
    let generated = named.parse2(arguments).and_then(|named| generate(named, &mut item));
    let generated = generated.unwrap_or_else(|error| {
        attributes::strip(&mut item);
        error.into_compile_error()
    });
    Ok(quote!(#item #generated))
}

fn generate(named: Named, item: &mut ItemImpl) -> syn::Result<TokenStream> {
    let block = parse::block(named, item)?;
    let runtime = crate_path::private();
    let message = message::expand(&block, &runtime);
    let calls = calls::expand(&block, &runtime);
    let receive = receive::expand(&block, &runtime);
    let behavior = behavior::expand(&block, &runtime);
    let stash = stash::expand(&block, &runtime);
    Ok(quote!(#message #calls #receive #behavior #stash))
}

/// What the options name.
#[derive(Default)]
pub(crate) struct Named {
    /// The protocol.
    pub(crate) api: Option<Ident>,
    /// The field that holds the state.
    pub(crate) state: Option<Ident>,
}

fn named(input: ParseStream<'_>) -> syn::Result<Named> {
    let mut named = Named::default();
    options::read(input, &["api", "state"], |name, input| {
        let place = if name == "api" { &mut named.api } else { &mut named.state };
        *place = Some(input.parse()?);
        Ok(())
    })?;
    Ok(named)
}

fn first_token(item: &Item) -> TokenStream {
    quote!(#item).into_iter().take(1).collect()
}
