//! Handlers of one state.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, ReturnType, Signature, Type};

use super::model::{Block, Handler, Kind};
use super::{attributes, stash, types, wire};
use crate::errors::Errors;
use crate::spans;

/// Marks the parameter.
const STATE: &str = "state";

/// What a handler is given of its actor's state.
pub(crate) struct Given {
    /// Where among the parameters.
    pub(crate) index: usize,
    /// The state.
    pub(crate) ty: Type,
    /// Whether it leaves the state, and returns the next one.
    pub(crate) leaves: bool,
}

/// Takes `#[state]` off a method's parameters, and returns which one had it.
pub(crate) fn take(sig: &mut Signature, errors: &mut Errors) -> Option<Given> {
    let mut given = None;
    for (index, input) in sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(typed) = input else { continue };
        let attrs: Vec<Attribute> =
            typed.attrs.extract_if(.., |attr| is_state(attr, errors)).collect();
        let Some(attr) = attrs.first() else { continue };
        if given.is_some() {
            errors.push(attr, "an actor is in one state: mark one parameter with `#[state]`");
        }
        let (ty, leaves) = match types::peel(&typed.ty) {
            Type::Reference(reference) if reference.mutability.is_some() => {
                (&*reference.elem, false)
            }
            Type::Reference(reference) => {
                let state = wire::written(&reference.elem.to_token_stream());
                let message =
                    format!("a state is lent as `&mut {state}`, or given as `{state}` to be left");
                errors.push(reference, message);
                (&*reference.elem, false)
            }
            ty => (ty, true),
        };
        given = Some(Given { index, ty: ty.clone(), leaves });
    }
    given
}

/// Says whether this is `#[state]`, also where it is wrong.
fn is_state(attr: &Attribute, errors: &mut Errors) -> bool {
    let mut conditional = attributes::conditional(&attr.meta).into_iter();
    attr.path().is_ident(STATE)
        || conditional.any(|path| !attributes::check_unconditional(&path, &[STATE], errors))
}

/// Checks what a handler of one state returns; of an asked one that leaves its state, returns the answer.
pub(crate) fn check(
    given: &Given,
    is_asked: bool,
    sig: &Signature,
    errors: &mut Errors,
) -> Option<Type> {
    let ty = &given.ty;
    let output = match &sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(types::peel(ty)),
    };
    match (given.leaves, is_asked, output) {
        (true, true, Some(Type::Tuple(both))) if both.elems.len() == 2 => {
            both.elems.last().cloned()
        }
        (true, true, _) => {
            let state = wire::written(&quote!(#ty));
            let returned = output
                .map(|output| format!(", and not `{}` alone", wire::written(&quote!(#output))));
            let message = format!(
                "an asked handler that takes its state returns the next one and the answer, in a tuple{}; or it \
                 takes `&mut {state}` to stay",
                returned.unwrap_or_default(),
            );
            errors.push(&sig.ident, message);
            None
        }
        (true, false, None) => {
            let state = wire::written(&quote!(#ty));
            let message = format!(
                "a handler that takes its state returns the next one: write its type after `->`, or take \
                 `&mut {state}` to stay"
            );
            errors.push(&sig.ident, message);
            None
        }
        _ => None,
    }
}

/// Whether the actor is in the state of a handler.
pub(crate) fn is_in(block: &Block, given: &Given, runtime: &TokenStream) -> TokenStream {
    let (field, ty) = (&block.state, &given.ty);
    at(ty, quote!(#runtime::State::is_in::<#ty>(&self.#field)))
}

/// Has rustc show a mistake in these tokens at the state.
fn at(ty: &Type, tokens: TokenStream) -> TokenStream {
    spans::relocate(tokens, spans::located(ty.span()))
}

/// Has `receive` go on only with a message that has a handler in the state that the actor is in.
pub(crate) fn refuse(block: &Block, runtime: &TokenStream) -> Option<TokenStream> {
    let message = &block.names.message;
    let (_, ty_generics, _) = block.generics.split_for_impl();
    let refused = || block.handlers.iter().filter(|handler| handler.manner.state.is_some());
    refused().next()?;
    let conditions = refused().filter_map(|handler| {
        let Handler { variant, cfgs, manner, .. } = handler;
        let is_in = is_in(block, manner.state.as_ref()?, runtime);
        Some(quote!(#(#cfgs)* #message::#variant { .. } => !#is_in,))
    });
    let refusals = refused().filter_map(|handler| stash::refusal(handler, message, runtime));
    let done = stash::done(block, runtime);
    Some(quote! {
        if match &message { #(#conditions)* _ => false } {
            match message { #(#refusals)* _ => {} }
            #runtime::report_refused::<Self, #message #ty_generics>(cx);
            return #done;
        }
    })
}

/// Calls a handler with its state, and settles which one the actor is in then.
pub(crate) fn arm(
    handler: &Handler,
    given: &Given,
    block: &Block,
    runtime: &TokenStream,
) -> TokenStream {
    let (message, field): (_, &Option<Ident>) = (&block.names.message, &block.state);
    let Handler { variant, cfgs, method, .. } = handler;
    let (fields, call, ty) = (handler.bound_fields(), method.call(runtime), &given.ty);
    let take = at(ty, quote!(#runtime::State::take::<#ty>(&mut self.#field)));
    let put_back = at(ty, quote!(#runtime::State::put_back::<#ty>(&mut self.#field, state)));
    let enter = quote!(#runtime::State::enter(&mut self.#field, next, cx));
    let enter = spans::relocate(enter, method.span());
    let text = handler.text();
    let (reply, work) = match (&handler.kind, given.leaves) {
        (Kind::Tell, true) => (None, quote!(let state = #take; let next = #call; #enter;)),
        (Kind::Tell, false) => {
            let told = method.pass(quote!(#runtime::Told::told), &quote!(told, cx, #text));
            (None, quote!(let mut state = #take; let told = #call; #put_back; #told;))
        }
        (Kind::Ask { reply, .. }, true) => (
            Some(reply),
            quote!(let state = #take; let (next, answer) = #call; #enter; reply.send(answer);),
        ),
        (Kind::Ask { reply, .. }, false) => (
            Some(reply),
            quote!(let mut state = #take; let answer = #call; #put_back; reply.send(answer);),
        ),
    };
    let begins = quote! {
        if let ::core::option::Option::Some(reply) =
            cx.begin_ask::<<Self as #runtime::Protocol>::Message, _>(reply)
    };
    let reply = reply.map(|reply| (quote!(#reply: reply), begins));
    let (reply, begins) = reply.unzip();
    quote!(#(#cfgs)* #message::#variant { #fields #reply } => { #begins { #work } })
}
