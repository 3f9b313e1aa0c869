//! `#[handlers]`: from an inherent impl to a message enum, typed callers and the actor's behaviour.
//!
//! 1. [`parse`] takes the role attributes off the methods and checks each against its role; what it
//!    returns is a [`Block`](model::Block), which can be generated from without further errors.
//! 2. [`message`], [`calls`], [`receive`], [`behavior`] and [`stash`] each generate one part of it, and
//!    [`wire`] one more where the protocol crosses nodes.
//! 3. [`cycles`] lets the methods themselves be named where rustc could not say what they return.
//!
//! Beside errors the impl itself is put back as well, and all that can be generated: a method that is wrong can still
//! be called, and does nothing. So an error is not followed by others about what is missing for it.

mod attributes;
mod behavior;
mod calls;
mod cycles;
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
mod wire;

#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Ident, Item, ItemImpl, Path};

use wire::Wire;

use crate::errors::Errors;
use crate::{crate_path, options};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut item = match syn::parse2(item)? {
        Item::Impl(item) => item,
        other => {
            let message = "`#[handlers]` goes on the impl block of an actor: `impl Book { .. }`";
            return Err(Error::new_spanned(first_token(&other), message));
        }
    };
    let mut options = Options::default();
    let mut errors = Errors::default();
    errors.take((|input: ParseStream<'_>| options.read(input)).parse2(arguments));
    let generated = generate(options, &mut item, &mut errors);
    if generated.is_none() {
        attributes::strip(&mut item);
    }
    let errors = errors.into_compile_errors();
    Ok(quote!(#item #generated #errors))
}

/// What is written in `#[handlers(..)]`.
#[derive(Default)]
struct Options {
    named: Named,
    wire: Option<Wire>,
    codec: Option<Path>,
}

/// What the options name.
#[derive(Default)]
pub(crate) struct Named {
    /// The protocol.
    pub(crate) api: Option<Ident>,
    /// The field that holds the state.
    pub(crate) state: Option<Ident>,
}

impl Options {
    /// Reads what can be read, also where something is wrong.
    fn read(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let read = self;
        options::read(input, &["api", "state", "wire", "codec"], |option, input| {
            match option {
                "api" => read.named.api = Some(input.parse()?),
                "state" => read.named.state = Some(input.parse()?),
                "wire" => {
                    let at = input.span();
                    let wire = Wire::parse(input);
                    let error = wire.as_ref().err().cloned();
                    read.wire = Some(wire.unwrap_or_else(|_| Wire::stand_in(at)));
                    return error.map_or(Ok(()), Err);
                }
                _ => read.codec = Some(input.parse()?),
            }
            Ok(())
        })?;
        match &read.codec {
            Some(codec) if read.wire.is_none() => {
                let message = "a codec is for the wire: write `wire = \"acme.book/1\"` beside it";
                Err(Error::new_spanned(codec, message))
            }
            _ => Ok(()),
        }
    }
}

/// Generates what can be, also where something is wrong: the actor is still one.
fn generate(options: Options, item: &mut ItemImpl, errors: &mut Errors) -> Option<TokenStream> {
    let Options { named, wire, codec } = options;
    let block = parse::block(named, item, errors);
    let block = errors.take(block)?;
    let runtime = crate_path::private();
    let wire = wire.map(|wire| wire::expand(&block, &wire, codec.as_ref(), &runtime));
    let wire = wire.and_then(|wire| errors.take(wire));
    let once = block.names.once();
    let message = message::expand(&block, &runtime);
    let calls = calls::expand(&block, &runtime);
    let receive = receive::expand(&block, &runtime);
    let behavior = behavior::expand(&block, &runtime);
    let stash = stash::expand(&block, &runtime);
    cycles::open(item, &block.waiting);
    Some(quote!(#once #message #calls #receive #behavior #stash #wire))
}

fn first_token(item: &Item) -> TokenStream {
    quote!(#item).into_iter().take(1).collect()
}
