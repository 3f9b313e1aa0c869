//! `#[derive(Message)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::ParseStream;
use syn::{DeriveInput, Error, Type};

use crate::{crate_path, options};

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "a message outlives whoever sends it: it owns its parts, so store `String` \
                       instead of `&str`, or share what is borrowed in an `Arc`";
        return Err(Error::new_spanned(&lifetime.lifetime, message));
    }
    let reply = match options::only(&input.attrs, "message")? {
        Some(attr) => attr.parse_args_with(reply)?,
        None => None,
    };
    let reply = reply.map_or_else(|| quote!(()), ToTokens::into_token_stream);
    let name = &input.ident;
    let runtime = crate_path::private();
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #runtime::Message for #name #ty_generics #where_clause {
            type Reply = #reply;
        }
    })
}

fn reply(input: ParseStream<'_>) -> syn::Result<Option<Type>> {
    let mut reply = None;
    options::read(input, &["reply"], |_, input| {
        reply = Some(input.parse()?);
        Ok(())
    })?;
    Ok(reply)
}
