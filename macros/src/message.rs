//! `#[derive(Message)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::token::Paren;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Type, Variant, parenthesized};

use crate::{crate_path, heap, lints, options, sizes};

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "a message outlives whoever sends it: it owns its parts, so store `String` \
                       instead of `&str`, or share what is borrowed in an `Arc`";
        return Err(Error::new_spanned(&lifetime.lifetime, message));
    }
    let inside = options::on_variants(&input.data).chain(options::on_fields(&input.data));
    options::none(inside, "message", "the type itself")?;
    let reply = match options::only(&input.attrs, "message")? {
        Some(attr) => attr.parse_args_with(reply)?,
        None => None,
    };
    let name = &input.ident;
    let runtime = crate_path::private();
    let lints = lints::deprecated(lints::attributes(&input));
    let sizes = sizes(&input, reply.as_ref(), lints.as_ref(), &runtime);
    let reply = reply.map_or_else(|| quote!(()), ToTokens::into_token_stream);
    // Nobody may have a reference to a part of a packed type; such a message counts for its own size.
    let heap_bytes = (!is_packed(&input.attrs)).then(|| heap_bytes(&input.data, &runtime));
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        #lints
        impl #impl_generics #runtime::Message for #name #ty_generics #where_clause {
            type Reply = #reply;
            #heap_bytes
        }
        #sizes
    })
}

/// Checks how large the message and its answer are, where that is known.
fn sizes(
    input: &DeriveInput,
    reply: Option<&Type>,
    lints: Option<&TokenStream>,
    runtime: &TokenStream,
) -> Option<TokenStream> {
    let name = &input.ident;
    let message = sizes::check(quote!(#runtime::limit_message::<#name>()), name.span());
    let answer = reply.map(|reply| {
        let answer = quote!(#runtime::limit_answer::<<#name as #runtime::Message>::Reply>());
        let answer = sizes::check(answer, reply.span());
        quote!(#lints #answer)
    });
    let is_plain = input.generics.params.is_empty();
    is_plain.then(|| quote!(#lints #message #answer))
}

/// Whether the type is `#[repr(packed)]`, in any of its forms.
fn is_packed(attrs: &[Attribute]) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident("repr")).any(|attr| {
        let mut is_packed = false;
        // What is no such list is for the compiler to refuse.
        let _ = attr.parse_nested_meta(|meta| {
            is_packed |= meta.path.is_ident("packed");
            if meta.input.peek(Paren) {
                let size;
                parenthesized!(size in meta.input);
                size.parse::<TokenStream>()?;
            }
            Ok(())
        });
        is_packed
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
