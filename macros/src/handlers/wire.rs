//! How messages go to other nodes: the manifest of a protocol, and each message as bytes.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Error, LitStr, Path};

use super::model::{Block, Handler, Kind};
use crate::{quantity, spans};

/// What `wire = ".."` and `codec = ..` say.
pub(crate) struct Wire {
    name: String,
    version: u16,
    /// Where to point to when the protocol as a whole is wrong.
    literal: LitStr,
}

impl Wire {
    /// Stands in for a protocol whose name is wrong.
    pub(crate) fn stand_in(at: Span) -> Self {
        Self { name: "wrong".to_owned(), version: 1, literal: LitStr::new("", at) }
    }

    /// Reads `"acme.book/3"`.
    pub(crate) fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let literal: LitStr = input.parse()?;
        let text = literal.value();
        let parts = text.rsplit_once('/').and_then(|(name, version)| {
            let version = Some(version).filter(|version| quantity::is_number(version))?;
            let version = version.parse::<u16>().ok().filter(|&version| version > 0)?;
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
            let is_plain =
                !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(plain);
            is_plain.then(|| (name.to_owned(), version))
        });
        let Some((name, version)) = parts else {
            let message = "the protocol needs a name and a version, which change with it: write \
                           `wire = \"acme.book/1\"`, of letters, digits, `.`, `-` and `_`, and a \
                           number from 1 to 65535";
            return Err(Error::new_spanned(literal, message));
        };
        Ok(Self { name, version, literal })
    }
}

/// Bytes in the name of a protocol at most, as the envelope has them.
const NAME_BYTES_MAX: usize = 128;

/// Generates what the wire needs.
///
/// # Errors
///
/// Fails for a protocol that is not one and the same everywhere.
pub(crate) fn expand(
    block: &Block,
    wire: &Wire,
    codec: Option<&Path>,
    runtime: &TokenStream,
) -> syn::Result<TokenStream> {
    if block.generics.type_params().next().is_some()
        || block.generics.const_params().next().is_some()
    {
        let message = "a protocol on the wire is one, not one for each type: leave out the \
                       parameters of the actor, or `wire`";
        return Err(Error::new_spanned(&wire.literal, message));
    }
    let net = quote!(#runtime::net);
    let codec_name = codec.map_or_else(|| "postcard".to_owned(), |codec| written(&quote!(#codec)));
    let codec = codec.map_or_else(|| quote!(#net::Postcard), |codec| quote!(#codec));
    let (message, name, version) = (&block.names.message, &wire.name, wire.version);
    let signatures = block.handlers.iter().map(|handler| signature(handler, block, &net));
    let encode = block.handlers.iter().map(|handler| encode(handler, block, &codec, &net));
    let decode = block.handlers.iter().map(|handler| decode(handler, block, &codec, &net));
    let shapes = block.handlers.iter().map(|handler| shapes(handler, block, &codec, &net));
    Ok(quote! {
        #[automatically_derived]
        #[allow(
            deprecated, unreachable_code, unused_variables, unused_mut,
            reason = "which handlers there are depends on their `cfg`s"
        )]
        #[diagnostic::do_not_recommend]
        impl #net::WireMessage for #message {
            const MANIFEST: #net::Manifest =
                #net::Manifest::new(#name, #version, #codec_name, &[#(#signatures)*]);

            fn encode(
                self,
                bytes: &mut ::std::vec::Vec<u8>,
            ) -> ::core::result::Result<#net::Encoded, #net::EncodeError> {
                match self { #(#encode)* }
            }

            fn decode(
                id: #net::MessageId,
                mut bytes: &[u8],
                until: #net::Until,
            ) -> ::core::result::Result<#net::Decoded<Self>, #net::DecodeError> {
                #(#decode)*
                ::core::result::Result::Err(#net::DecodeError::Unknown)
            }

            // Made only where somebody asks.
            #[inline]
            fn shapes() -> ::std::vec::Vec<::std::vec::Vec<#net::Shape>> {
                let mut shapes = ::std::vec::Vec::new();
                #(#shapes)*
                shapes
            }
        }
    })
}

fn signature(handler: &Handler, block: &Block, net: &TokenStream) -> TokenStream {
    let Handler { cfgs, fields, .. } = handler;
    let text = handler.text();
    let parameters = fields.iter().map(|field| {
        let (name, ty) = (field.name.unraw().to_string(), written(&field.ty));
        quote!((#name, #ty),)
    });
    let new = match &handler.kind {
        Kind::Tell => quote!(#net::Signature::told(#text, &[#(#parameters)*])),
        Kind::Ask { .. } => {
            let answer = written(&block.answer(handler));
            quote!(#net::Signature::asked(#text, &[#(#parameters)*], #answer))
        }
    };
    quote!(#(#cfgs)* #new,)
}

/// What is inside of the parameters and of the answer.
fn shapes(handler: &Handler, block: &Block, codec: &TokenStream, net: &TokenStream) -> TokenStream {
    let Handler { cfgs, fields, .. } = handler;
    let of_parameters = fields.iter().map(|field| {
        let (ty, span) = (&field.ty, spans::located(field.ty.span()));
        spans::relocate(quote!(#net::shape::<#codec, #ty>), span)
    });
    let of_answer = match &handler.kind {
        Kind::Tell => None,
        Kind::Ask { .. } => {
            let answer = block.answer(handler);
            Some(spans::relocate(quote!(#net::shape::<#codec, #answer>), handler.method.span()))
        }
    };
    let all = of_parameters.chain(of_answer);
    quote!(#(#cfgs)* shapes.push(::std::vec![#(#all()),*]);)
}

fn encode(handler: &Handler, block: &Block, codec: &TokenStream, net: &TokenStream) -> TokenStream {
    let Handler { variant, cfgs, fields, .. } = handler;
    let text = handler.text();
    let names = fields.iter().map(|field| &field.name);
    let bound: Vec<_> = (0..fields.len()).map(|index| format_ident!("arg{index}")).collect();
    let puts = bound.iter().zip(fields).map(|(bound, field)| {
        // At the field's type, which is the place to change if it does not go on the wire.
        let (ty, span) = (&field.ty, spans::located(field.ty.span()));
        let put = spans::relocate(quote!(#net::encode::<#codec, #ty>), span);
        quote!(#put(&#bound, bytes)?;)
    });
    let fields = quote!(#(#names: #bound,)*);
    match &handler.kind {
        Kind::Tell => quote! {
            #(#cfgs)*
            Self::#variant { #fields } => {
                #(#puts)*
                ::core::result::Result::Ok(#net::Encoded::told(#text))
            }
        },
        Kind::Ask { reply, .. } => {
            let answer = block.answer(handler);
            let span = handler.method.span();
            let asked = spans::relocate(quote!(#net::Encoded::asked::<#codec, #answer>), span);
            quote! {
                #(#cfgs)*
                Self::#variant { #fields #reply: reply } => {
                    #(#puts)*
                    ::core::result::Result::Ok(#asked(#text, reply))
                }
            }
        }
    }
}

fn decode(handler: &Handler, block: &Block, codec: &TokenStream, net: &TokenStream) -> TokenStream {
    let Handler { variant, cfgs, fields, .. } = handler;
    let text = handler.text();
    let names = fields.iter().map(|field| &field.name);
    let bound: Vec<_> = (0..fields.len()).map(|index| format_ident!("arg{index}")).collect();
    let takes = bound.iter().zip(fields).map(|(bound, field)| {
        let (ty, span) = (&field.ty, spans::located(field.ty.span()));
        let take = spans::relocate(quote!(#net::decode::<#codec, #ty>), span);
        quote!(let #bound = #take(&mut bytes)?;)
    });
    let fields = quote!(#(#names: #bound,)*);
    let made = match &handler.kind {
        Kind::Tell => quote!(#net::Decoded::told(Self::#variant { #fields })),
        Kind::Ask { reply, .. } => {
            let answer = block.answer(handler);
            let span = handler.method.span();
            let question = spans::relocate(quote!(#net::question::<#codec, #answer>), span);
            quote! {{
                let (reply, answer) = #question(until);
                #net::Decoded::asked(Self::#variant { #fields #reply: reply }, answer)
            }}
        }
    };
    quote! {
        #(#cfgs)*
        {
            if id == const { #net::MessageId::of(#text) } {
                #(#takes)*
                #net::finish(bytes)?;
                return ::core::result::Result::Ok(#made);
            }
        }
    }
}

/// Writes tokens in one way, whatever the spaces in the source and whoever prints them: names and
/// numbers that follow each other are parted by a space, and nothing else.
pub(crate) fn written(tokens: &TokenStream) -> String {
    let mut text = String::new();
    write(tokens, &mut text);
    text
}

fn write(tokens: &TokenStream, text: &mut String) {
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                write(&group.stream(), text);
                text.push_str(close);
            }
            TokenTree::Punct(punct) => text.push(punct.as_char()),
            word => {
                if text.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
            }
        }
    }
}
