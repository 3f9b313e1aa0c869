//! `#[derive(Message)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::ParseStream;
use syn::{Data, DeriveInput, Error, Fields, Type, Variant};

use crate::{crate_path, heap, options};

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
    let heap_bytes = heap_bytes(&input.data, &runtime);
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #runtime::Message for #name #ty_generics #where_clause {
            type Reply = #reply;
            #heap_bytes
        }
    })
}

/// What the fields own.
fn heap_bytes(data: &Data, runtime: &TokenStream) -> TokenStream {
    let arms: TokenStream = match data {
        Data::Struct(data) => arm(&quote!(Self), &data.fields, runtime),
        Data::Enum(data) => {
            let arm = |variant: &Variant| {
                let name = &variant.ident;
                arm(&quote!(Self::#name), &variant.fields, runtime)
            };
            data.variants.iter().map(arm).collect()
        }
        // Nobody knows which field is there.
        Data::Union(_) => quote!(_ => 0,),
    };
    heap::method(runtime, &arms)
}

fn arm(path: &TokenStream, fields: &Fields, runtime: &TokenStream) -> TokenStream {
    let parts: Vec<_> = (0..fields.len()).map(|index| format_ident!("part_{index}")).collect();
    let members = fields.members().zip(&parts).map(|(member, part)| quote!(#member: ref #part));
    heap::arm(runtime, &quote!(#path { #(#members),* }), &parts.iter().collect::<Vec<_>>())
}

fn reply(input: ParseStream<'_>) -> syn::Result<Option<Type>> {
    let mut reply = None;
    options::read(input, &["reply"], |_, input| {
        reply = Some(input.parse()?);
        Ok(())
    })?;
    Ok(reply)
}
