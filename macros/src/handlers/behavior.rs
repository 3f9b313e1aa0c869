//! How the actor starts and stops.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::model::{Block, Method};
use super::types;
use crate::{lints, sizes, spans};

pub(crate) fn expand(block: &Block, runtime: &TokenStream) -> TokenStream {
    let actor = &block.actor;
    let (impl_generics, _, where_clause) = block.generics.split_for_impl();
    let start = start(block.start.as_ref(), runtime);
    let stop = block.stop.as_ref().map(|stop| self::stop(stop, runtime));
    let size = size(block, runtime);
    quote! {
        #[automatically_derived]
        #[allow(deprecated, unused_variables, reason = "a hook need not use all it is given")]
        impl #impl_generics #runtime::Behavior for #actor #where_clause {
            #start
            #stop
        }
        #size
    }
}

/// Checks how large the start arguments are, where that is known, and they are not the actor itself.
fn size(block: &Block, runtime: &TokenStream) -> Option<TokenStream> {
    let actor = &block.actor;
    let args = quote!(<#actor as #runtime::Behavior>::Args);
    let check = quote!(#runtime::limit_arguments::<#args>());
    let (lints, check) = (lints::always(), sizes::check(check, actor.span()));
    (block.is_plain() && block.start.is_some()).then(|| quote!(#lints #check))
}

fn start(hook: Option<&Method>, runtime: &TokenStream) -> TokenStream {
    let started = quote!(::core::result::Result<Self, #runtime::StartError>);
    let now = quote!(#runtime::Step::<#started, ::core::future::Ready<#started>>::Done);
    let (args, body) = match hook {
        // An actor without a hook is its own argument.
        None => (quote!(Self), quote!(#now(::core::result::Result::Ok(args)))),
        Some(hook) if hook.is_wrong => {
            let args = tuple(&hook.values().map(|(_, ty)| ty).collect::<Vec<_>>());
            (args, quote!(if true { ::core::unreachable!() } #now(::core::unreachable!())))
        }
        Some(hook) => {
            let take = tuple(&hook.bindings().collect::<Vec<_>>());
            let args = tuple(&hook.values().map(|(_, ty)| ty).collect::<Vec<_>>());
            let call = hook.call(runtime);
            let call = hook.pass(quote!(#runtime::Started::<Self>::started), &call);
            let run = match hook.is_async {
                true => quote!(#runtime::Step::Later(async move { #call })),
                false => quote!(#now(#call)),
            };
            (args, quote!(let #take = args; #run))
        }
    };
    let type_of_args = type_of_args(hook, &args);
    quote! {
        #type_of_args

        fn start<'a>(
            args: Self::Args,
            cx: &'a mut #runtime::Context<Self>,
        ) -> #runtime::Step<
            #started,
            impl ::core::future::Future<Output = #started> + ::core::marker::Send + 'a,
        > {
            #body
        }
    }
}

/// Declares what `spawn` takes. It is located at the types of the arguments: one that is less visible than the actor is
/// the mistake there.
fn type_of_args(hook: Option<&Method>, args: &TokenStream) -> TokenStream {
    let mut spans =
        hook.into_iter().flat_map(Method::values).map(|(_, ty)| spans::located(ty.span()));
    let first = spans.next().unwrap_or_else(Span::call_site);
    let last = spans.last().unwrap_or(first);
    let name = Ident::new("Args", last);
    let (keyword, end) = (quote_spanned!(first=> type), quote_spanned!(last=> ;));
    quote!(#keyword #name = #args #end)
}

fn stop(hook: &Method, runtime: &TokenStream) -> TokenStream {
    let reasons = hook.values().map(|(_, ty)| {
        let reason = match types::peel(ty) {
            syn::Type::Reference(_) => quote!(reason),
            _ => quote!(::core::clone::Clone::clone(reason)),
        };
        quote!(let arg0 = #reason;)
    });
    let call = hook.call(runtime);
    let call = hook.pass(quote!(#runtime::Told::told), &quote!(#call, cx, "stop"));
    let run = match hook.is_async {
        true => quote!(#runtime::Step::Later(async move { #(#reasons)* #call })),
        false => quote! {
            #(#reasons)*
            #call;
            #runtime::Step::<(), ::core::future::Ready<()>>::Done(())
        },
    };
    quote! {
        fn stop<'a>(
            &'a mut self,
            reason: &'a #runtime::ExitReason,
            cx: &'a mut #runtime::Context<Self>,
        ) -> #runtime::Step<
            (),
            impl ::core::future::Future<Output = ()> + ::core::marker::Send + 'a,
        > {
            #run
        }
    }
}

/// Returns nothing as `()`, one thing as itself, and several as a tuple.
fn tuple(parts: &[impl quote::ToTokens]) -> TokenStream {
    match parts {
        [one] => quote!(#one),
        parts => quote!((#(#parts),*)),
    }
}
