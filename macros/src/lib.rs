// The runtime runs the examples in the documents: here they would need a runtime, compiled anew for the compiler.
#![cfg_attr(not(doctest), doc = include_str!("../docs/crate.md"))]
#![forbid(unsafe_code)]

mod actor;
mod crate_path;
mod entry;
mod errors;
mod event;
mod handlers;
mod heap;
mod lints;
mod message;
mod options;
mod quantity;
mod sizes;
mod spans;
mod states;

use proc_macro::TokenStream;

#[cfg_attr(not(doctest), doc = include_str!("../docs/actor.md"))]
#[proc_macro_derive(Actor, attributes(actor))]
pub fn derive_actor(item: TokenStream) -> TokenStream {
    tokens(actor::expand(item.into()))
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/message.md"))]
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(item: TokenStream) -> TokenStream {
    tokens(message::expand(item.into()))
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/event.md"))]
#[proc_macro_derive(Event, attributes(event))]
pub fn derive_event(item: TokenStream) -> TokenStream {
    tokens(event::expand(item.into()))
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/states.md"))]
#[proc_macro_derive(States)]
pub fn derive_states(item: TokenStream) -> TokenStream {
    tokens(states::expand(item.into()))
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/handlers.md"))]
#[proc_macro_attribute]
pub fn handlers(options: TokenStream, item: TokenStream) -> TokenStream {
    tokens(handlers::expand(options.into(), item.into()))
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/main.md"))]
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    tokens(entry::expand("greenroom::main", &quote::quote!(), &options.into(), item.into()))
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/test.md"))]
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    let mark = quote::quote!(#[::core::prelude::v1::test]);
    tokens(entry::expand("greenroom::test", &mark, &options.into(), item.into()))
}

/// Returns what to put into the user's crate: the expansion, or its errors.
fn tokens(expansion: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expansion.unwrap_or_else(syn::Error::into_compile_error).into()
}
