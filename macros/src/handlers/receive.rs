//! From a message to the method that handles it.
//!
//! A plain method is called at once and no future is built. All `async` methods share one future:
//! a block that matches the message again, in which the plain ones do not occur.

use proc_macro2::TokenStream;
use quote::quote;

use super::model::{Block, Handler, Kind};
use super::{interleave, message, stash, state};

pub(crate) fn expand(block: &Block, runtime: &TokenStream) -> TokenStream {
    let actor = &block.actor;
    let message = &block.names.message;
    let (impl_generics, ty_generics, where_clause) = block.generics.split_for_impl();
    let body = body(block, runtime);
    let put_aside = stash::put_aside(block, runtime);
    let refuse = state::refuse(block, runtime);
    let hold_back = interleave::hold_back(block, runtime);
    quote! {
        #[automatically_derived]
        #[allow(
            deprecated, unreachable_code, unreachable_patterns, unused_variables,
            reason = "which handlers there are depends on their `cfg`s"
        )]
        impl #impl_generics #runtime::Receive<#message #ty_generics, #runtime::ByMacro> for #actor
        #where_clause
        {
            const ANSWERS: bool = true;

            #[inline(always)]
            fn receive<'a>(
                &'a mut self,
                message: #message #ty_generics,
                cx: &'a mut #runtime::Context<Self>,
            ) -> #runtime::Step<
                (),
                impl ::core::future::Future<Output = ()> + ::core::marker::Send + 'a,
            > {
                #put_aside
                #refuse
                #hold_back
                #body
            }
        }
    }
}

fn body(block: &Block, runtime: &TokenStream) -> TokenStream {
    let arms = |is_async: bool| {
        let handlers =
            block.handlers.iter().filter(move |handler| handler.holds_and_waits() == is_async);
        handlers.map(|handler| arm(handler, block, runtime)).collect::<Vec<_>>()
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

fn arm(handler: &Handler, block: &Block, runtime: &TokenStream) -> TokenStream {
    if handler.method.is_wrong {
        let (message, Handler { variant, cfgs, .. }) = (&block.names.message, handler);
        return quote!(#(#cfgs)* #message::#variant { .. } => ::core::unreachable!(),);
    }
    if handler.is_interleaved() {
        return interleave::arm(handler, block, runtime);
    }
    if let Some(given) = &handler.manner.state {
        return state::arm(handler, given, block, runtime);
    }
    let message = &block.names.message;
    let Handler { variant, cfgs, method, .. } = handler;
    let fields = handler.bound_fields();
    let call = method.call(runtime);
    match &handler.kind {
        Kind::Tell => {
            let text = handler.text();
            let told = method.pass(quote!(#runtime::Told::told), &quote!(#call, cx, #text));
            quote!(#(#cfgs)* #message::#variant { #fields } => { #told; })
        }
        Kind::Ask { reply, gives: true, .. } => {
            let run = begin(&quote!(begin_ask), &quote!(#call;), runtime);
            let run = apart(handler, block, &run, runtime);
            quote!(#(#cfgs)* #message::#variant { #fields #reply: reply } => { #run })
        }
        Kind::Ask { reply, cancel: false, .. } => {
            let run = begin(&quote!(begin_ask), &quote!(reply.send(#call);), runtime);
            let run = apart(handler, block, &run, runtime);
            quote!(#(#cfgs)* #message::#variant { #fields #reply: reply } => { #run })
        }
        Kind::Ask { reply, cancel: true, .. } if method.is_async => quote! {
            #(#cfgs)*
            #message::#variant { #fields #reply: reply } => {
                if let ::core::option::Option::Some(mut reply) =
                    cx.begin_ask_if_wanted::<<Self as #runtime::Protocol>::Message, _>(reply)
                {
                    match #runtime::while_asked(&mut reply, async { #call }).await {
                        ::core::option::Option::Some(answer) => reply.send(answer),
                        ::core::option::Option::None => {
                            cx.note_cancelled::<<Self as #runtime::Protocol>::Message>();
                        }
                    }
                }
            }
        },
        Kind::Ask { reply, cancel: true, .. } => {
            let answer = quote!(reply.send(#call););
            let run = begin(&quote!(begin_ask_if_wanted), &answer, runtime);
            let run = apart(handler, block, &run, runtime);
            quote!(#(#cfgs)* #message::#variant { #fields #reply: reply } => { #run })
        }
    }
}

fn begin(begins: &TokenStream, answer: &TokenStream, runtime: &TokenStream) -> TokenStream {
    quote! {
        if let ::core::option::Option::Some(reply) =
            cx.#begins::<<Self as #runtime::Protocol>::Message, _>(reply)
        {
            #answer
        }
    }
}

/// What is asked beside what is told gets a function of its own, so that telling need not save the registers that
/// answering takes.
fn apart(
    handler: &Handler,
    block: &Block,
    run: &TokenStream,
    runtime: &TokenStream,
) -> TokenStream {
    let tells = block.handlers.iter().any(|handler| matches!(handler.kind, Kind::Tell));
    if tells && !handler.method.is_async {
        quote!(#runtime::apart(|| { #run });)
    } else {
        run.clone()
    }
}
