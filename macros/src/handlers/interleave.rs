//! Handlers that do not hold their actor while they wait.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::model::{Block, Handler, Kind};
use super::stash;
use crate::spans;

/// Has `receive` go on only with a message whose handler may begin.
pub(crate) fn hold_back(block: &Block, runtime: &TokenStream) -> Option<TokenStream> {
    let message = &block.names.message;
    let mut interleaved = block.handlers.iter().filter(|handler| handler.is_interleaved());
    let first = interleaved.clone().next()?;
    let done = stash::done(block, runtime);
    // An actor that does not say how many may wait is an error at the attribute.
    let span =
        spans::located(first.manner.interleave.as_ref().map_or(first.method.span(), Spanned::span));
    let hold_back = quote_spanned!(span=> #runtime::hold_back::<Self, _>(message, cx));
    let arms = interleaved.by_ref().map(|handler| {
        let Handler { variant, cfgs, .. } = handler;
        quote!(#(#cfgs)* #message::#variant { .. } => #hold_back,)
    });
    Some(quote! {
        let held_back = match &message {
            #(#arms)*
            _ => ::core::option::Option::Some(message),
        };
        let ::core::option::Option::Some(message) = held_back else {
            return #done;
        };
    })
}

/// Begins the handler as a future of its own.
pub(crate) fn arm(handler: &Handler, block: &Block, runtime: &TokenStream) -> TokenStream {
    let (message, (_, ty_generics, _)) = (&block.names.message, block.generics.split_for_impl());
    let Handler { variant, cfgs, method, .. } = handler;
    let fields = handler.bound_fields();
    let call = method.call(runtime);
    let begin = |work: TokenStream| {
        quote! {
            #runtime::interleave::<Self, #message #ty_generics, _>(cx, |mut cx| async move {
                let cx = &mut cx;
                #work
            });
        }
    };
    match &handler.kind {
        Kind::Tell => {
            let text = handler.text();
            let told = method.pass(quote!(#runtime::Told::told), &quote!(told, cx, #text));
            let begin = begin(quote! {
                let told = #call;
                cx.with(|_, cx| #told);
            });
            quote!(#(#cfgs)* #message::#variant { #fields } => { #begin })
        }
        Kind::Ask { reply, cancel, gives } => {
            let (begins, bound, begin) = if *cancel {
                let begin = begin(quote! {
                    match #runtime::while_asked(&mut reply, async { #call }).await {
                        ::core::option::Option::Some(answer) => reply.send(answer),
                        ::core::option::Option::None => {
                            cx.with(|_, cx| cx.note_cancelled::<#message #ty_generics>());
                        }
                    }
                });
                (quote!(begin_ask_if_wanted), quote!(mut reply), begin)
            } else {
                let answer = if *gives { quote!(#call;) } else { quote!(reply.send(#call);) };
                (quote!(begin_ask), quote!(reply), begin(answer))
            };
            quote! {
                #(#cfgs)*
                #message::#variant { #fields #reply: reply } => {
                    if let ::core::option::Option::Some(#bound) =
                        cx.#begins::<#message #ty_generics, _>(reply)
                    {
                        #begin
                    }
                }
            }
        }
    }
}
