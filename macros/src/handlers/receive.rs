//! From a message to the method that handles it.
//!
//! A plain method is called at once and no future is built. All `async` methods share one future:
//! a block that matches the message again, in which the plain ones do not occur.

use proc_macro2::TokenStream;
use quote::quote;

use super::model::{Block, Handler, Kind};
use super::{message, stash};

pub(crate) fn expand(block: &Block, runtime: &TokenStream) -> TokenStream {
    let actor = &block.actor;
    let message = &block.names.message;
    let (impl_generics, ty_generics, where_clause) = block.generics.split_for_impl();
    let body = body(block, runtime);
    let put_aside = stash::put_aside(block, runtime);
    quote! {
        #[automatically_derived]
        #[allow(
            deprecated, unreachable_code, unreachable_patterns, unused_variables,
            reason = "which handlers there are depends on their `cfg`s"
        )]
        impl #impl_generics #runtime::Receive<#message #ty_generics, #runtime::ByMacro> for #actor
        #where_clause
        {
            fn receive<'a>(
                &'a mut self,
                message: #message #ty_generics,
                cx: &'a mut #runtime::Context<Self>,
            ) -> #runtime::Step<
                (),
                impl ::core::future::Future<Output = ()> + ::core::marker::Send + 'a,
            > {
                #put_aside
                #body
            }
        }
    }
}

fn body(block: &Block, runtime: &TokenStream) -> TokenStream {
    let name = &block.names.message;
    let arms = |is_async: bool| {
        let handlers =
            block.handlers.iter().filter(move |handler| handler.method.is_async == is_async);
        handlers.map(|handler| arm(handler, name, runtime)).collect::<Vec<_>>()
    };
    let (now, later) = (arms(false), arms(true));
    let phantom = message::phantom_arm(block);
    if later.is_empty() {
        return quote! {
            match message { #(#now)* #phantom }
            #runtime::Step::<(), ::core::future::Ready<()>>::Done(())
        };
    }
    let others = (!now.is_empty() || phantom.is_some()).then(|| quote!(_ => {}));
    let later = quote! {
        #runtime::Step::Later(async move {
            match message { #(#later)* #others }
        })
    };
    if now.is_empty() {
        return later;
    }
    quote! {
        match message {
            #(#now)*
            message => return #later,
        }
        #runtime::Step::Done(())
    }
}

fn arm(handler: &Handler, message: &syn::Ident, runtime: &TokenStream) -> TokenStream {
    let Handler { variant, cfgs, fields, method, .. } = handler;
    let names = fields.iter().map(|field| &field.name);
    let bindings = method.bindings();
    let fields = quote!(#(#names: #bindings,)*);
    let call = method.call(runtime);
    match &handler.kind {
        Kind::Tell => {
            let text = handler.text();
            let told = method.pass(quote!(#runtime::Told::told), &quote!(#call, cx, #text));
            quote!(#(#cfgs)* #message::#variant { #fields } => { #told; })
        }
        Kind::Ask(reply) => quote! {
            #(#cfgs)*
            #message::#variant { #fields #reply: reply } => {
                cx.enter_ask(&reply);
                reply.send(#call);
            }
        },
    }
}
