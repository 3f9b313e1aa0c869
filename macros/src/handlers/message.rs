//! The message enum, and the protocols that use it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::model::{Block, Handler, Kind};
use crate::{heap, lints, sizes, spans};

pub(crate) fn expand(block: &Block, runtime: &TokenStream) -> TokenStream {
    let enumeration = enumeration(block, runtime);
    let debug = debug(block);
    let checks = checks(block, runtime);
    let name = &block.names.message;
    let (impl_generics, ty_generics, where_clause) = block.generics.split_for_impl();
    let protocol = protocol(block, runtime);
    let heap_bytes = heap_bytes(block, runtime);
    quote! {
        #enumeration
        #debug
        #checks
        #[automatically_derived]
        #[allow(deprecated, reason = "that is said where somebody uses it")]
        #[diagnostic::do_not_recommend]
        impl #impl_generics #runtime::Message for #name #ty_generics #where_clause {
            type Reply = ();
            #heap_bytes
        }
        #protocol
    }
}

/// Returns the match arm for the variant that holds the type parameters, where there are any.
///
/// Its first field has no values, so nobody can make the variant, and the arm costs nothing.
pub(crate) fn phantom_arm(block: &Block) -> Option<TokenStream> {
    let name = &block.names.message;
    block.phantom().map(|_| quote!(#name::__Generics(never, _) => match never {},))
}

fn enumeration(block: &Block, runtime: &TokenStream) -> TokenStream {
    let name = &block.names.message;
    let (_, _, where_clause) = block.generics.split_for_impl();
    let generics = &block.generics;
    let variants = block.handlers.iter().map(|handler| variant(handler, block, runtime));
    let phantom = block
        .phantom()
        .map(|phantom| quote!(#[doc(hidden)] __Generics(::core::convert::Infallible, #phantom),));
    let lints = &block.lints;
    let doc = format!("A message to `{}`: one variant for each handler.", block.name());
    quote! {
        #[doc = #doc]
        #[allow(
            dead_code, deprecated, private_bounds, private_interfaces, unnameable_types,
            unreachable_pub,
            reason = "how far it is visible depends on where the actor is declared"
        )]
        #(#lints)*
        pub enum #name #generics #where_clause { #(#variants)* #phantom }
    }
}

fn variant(handler: &Handler, block: &Block, runtime: &TokenStream) -> TokenStream {
    let Handler { variant, cfgs, fields, lints, .. } = handler;
    let method = format!("`{}::{}`", block.name(), handler.text());
    let doc = match &handler.kind {
        Kind::Tell => format!("Tells {method}."),
        Kind::Ask { .. } => format!("Asks {method}."),
    };
    let fields = fields.iter().map(|field| {
        let (name, ty) = (&field.name, &field.ty);
        let doc = format!("The argument `{}`.", field.written);
        quote!(#[doc = #doc] #name: #ty,)
    });
    let reply = match &handler.kind {
        Kind::Tell => None,
        Kind::Ask { reply, .. } => {
            let answer = block.answer(handler);
            Some(quote!(#[doc = "Takes the answer."] #reply: #runtime::Reply<#answer>,))
        }
    };
    quote!(#(#cfgs)* #[doc = #doc] #(#lints)* #variant { #(#fields)* #reply },)
}

/// Names the variant and leaves the arguments out, which need not be `Debug`.
fn debug(block: &Block) -> TokenStream {
    let name = &block.names.message;
    let (impl_generics, ty_generics, where_clause) = block.generics.split_for_impl();
    let arms = block.handlers.iter().map(|handler| {
        let Handler { variant, cfgs, .. } = handler;
        let text = variant.to_string();
        quote!(#(#cfgs)* Self::#variant { .. } => #text,)
    });
    let phantom = phantom_arm(block);
    quote! {
        #[automatically_derived]
        #[allow(deprecated, unreachable_code, reason = "a message without variants has no name")]
        impl #impl_generics ::core::fmt::Debug for #name #ty_generics #where_clause {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let variant = match *self { #(#arms)* #phantom };
                ::core::fmt::Formatter::debug_struct(f, variant).finish_non_exhaustive()
            }
        }
    }
}

/// What the arguments own; an answer's way back owns nothing that counts.
fn heap_bytes(block: &Block, runtime: &TokenStream) -> TokenStream {
    let arms = block.handlers.iter().map(|handler| {
        let Handler { variant, cfgs, fields, .. } = handler;
        let parts: Vec<_> = fields.iter().map(|field| &field.name).collect();
        let pattern = quote!(#(#cfgs)* Self::#variant { #(ref #parts,)* .. });
        heap::arm(runtime, &pattern, &parts)
    });
    let phantom = phantom_arm(block);
    heap::method(runtime, &quote!(#(#arms)* #phantom))
}

/// Checks each part of the message by itself, so that one which is not `Send` is an error at its
/// type and not only at the message as a whole.
fn checks(block: &Block, runtime: &TokenStream) -> TokenStream {
    let (impl_generics, _, where_clause) = block.generics.split_for_impl();
    let sizes = sizes(block, runtime);
    let checks = block.handlers.iter().map(|handler| {
        let cfgs = &handler.cfgs;
        let arguments = handler.fields.iter().map(|field| {
            let ty = &field.ty;
            quote_spanned!(spans::located(ty.span())=> #runtime::assert_argument::<#ty>();)
        });
        let answer =
            handler.method.output.as_ref().filter(|_| matches!(handler.kind, Kind::Ask { .. }));
        let answer = answer.map(|ty| {
            let answer = block.answer(handler);
            quote_spanned!(spans::located(ty.span())=> #runtime::assert_answer::<#answer>();)
        });
        quote!(#(#cfgs)* { #(#arguments)* #answer })
    });
    quote! {
        const _: () = {
            #[allow(dead_code, deprecated, reason = "it only has to compile")]
            fn parts_can_be_sent #impl_generics () #where_clause { #(#checks)* }
        };
        #sizes
    }
}

/// Checks how large the message and the answers are, where that is known.
fn sizes(block: &Block, runtime: &TokenStream) -> Option<TokenStream> {
    let (name, lints) = (&block.names.message, lints::always());
    let answers = block.handlers.iter().filter_map(|handler| {
        let output = handler.method.output.as_ref();
        let span = output.filter(|_| matches!(handler.kind, Kind::Ask { .. }))?.span();
        let (cfgs, answer) = (&handler.cfgs, block.answer(handler));
        let check = sizes::check(quote!(#runtime::limit_answer::<#answer>()), span);
        Some(quote!(#(#cfgs)* #lints #check))
    });
    let check = quote!(#runtime::limit_message::<#name>());
    let check = sizes::check(check, block.actor.span());
    block.is_plain().then(|| quote!(#lints #check #(#answers)*))
}

/// The protocol of the actor, and the same under the name that `api` gives it.
fn protocol(block: &Block, runtime: &TokenStream) -> TokenStream {
    let actor = &block.actor;
    let (impl_generics, ty_generics, where_clause) = block.generics.split_for_impl();
    let (message, calls) = (&block.names.message, &block.names.calls);
    let implement = |protocol: TokenStream| {
        quote! {
            #[automatically_derived]
            #[allow(deprecated, reason = "that is said where somebody uses it")]
            impl #impl_generics #runtime::Protocol for #protocol #where_clause {
                type Message = #message #ty_generics;
                type Calls = #calls #ty_generics;
            }
        }
    };
    let own = implement(quote!(#actor));
    let Some(api) = &block.names.api else { return own };
    let generics = &block.generics;
    let phantom = block.phantom().map(|phantom| quote!((#phantom)));
    let doc = format!("The protocol of `{}`: what a `Ref<{api}>` can do.", block.name());
    let named = implement(quote!(#api #ty_generics));
    quote! {
        #own
        #[doc = #doc]
        #[allow(
            dead_code, deprecated, private_bounds, unnameable_types, unreachable_pub,
            reason = "it is a name for types, and no value of it is made"
        )]
        #[derive(Debug)]
        pub struct #api #generics #phantom #where_clause;
        #named
    }
}
