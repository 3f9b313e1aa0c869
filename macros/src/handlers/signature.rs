//! Reads the signature of a method that has a role.

use syn::{FnArg, ReceiverKind, ReturnType, Safety, Signature, Type};

use super::attributes::{self, Role};
use super::model::{Method, Param, Receiver};
use super::state::Given;
use super::types;
use crate::errors::Errors;

/// Reads a signature, and notes what no role allows.
pub(crate) fn method(
    role: Role,
    sig: &Signature,
    state: Option<&Given>,
    actor: &Type,
    errors: &mut Errors,
) -> Method {
    check_qualifiers(sig, errors);
    check_generics(role, sig, errors);
    let mut receiver = Receiver::Missing;
    let mut params = Vec::new();
    for (index, input) in sig.inputs.iter().enumerate() {
        match input {
            FnArg::Receiver(written) => receiver = self::receiver(role, written, errors),
            FnArg::Typed(typed) => {
                if let Some(cfg) = attributes::cfgs(&typed.attrs).first() {
                    let message = "an argument is always there: write the whole method twice, \
                                   each under its own `#[cfg]`";
                    errors.push(cfg, message);
                }
                params.push(match state.filter(|given| given.index == index) {
                    Some(given) => Param::State(typed.ty.as_ref().clone(), given.leaves),
                    None => param(role, typed, actor, errors),
                });
            }
        }
    }
    check_contexts(&params, errors);
    let output = match &sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(ty.as_ref().clone()),
    };
    let is_async = sig.asyncness.is_some();
    Method { name: sig.ident.clone(), receiver, is_async, params, output, is_wrong: false }
}

fn check_qualifiers(sig: &Signature, errors: &mut Errors) {
    if let Safety::Unsafe(token) = &sig.safety {
        let message = "the runtime calls this method and knows no contract of it: write a safe \
                       `fn`, with an `unsafe` block inside";
        errors.push(token, message);
    }
    if let Some(abi) = &sig.abi {
        errors.push(abi, "only Rust calls this method: leave out `extern`");
    }
}

fn check_generics(role: Role, sig: &Signature, errors: &mut Errors) {
    let written = role.written();
    if !sig.generics.params.is_empty() {
        let message = format!(
            "`{written}` methods are not generic: write concrete types, or make the actor \
             generic, as in `impl<T: Send + 'static> Cache<T>`"
        );
        errors.push(&sig.generics, message);
    }
    if let Some(clause) = &sig.generics.where_clause {
        let message = format!("`{written}` methods have no conditions: write them on the impl");
        errors.push(clause, message);
    }
}

fn receiver(role: Role, written: &syn::Receiver, errors: &mut Errors) -> Receiver {
    let (lifetime, exclusive) = match &written.kind {
        ReceiverKind::Reference(_, lifetime, mutability) => (lifetime, mutability.is_some()),
        ReceiverKind::Typed(_, ty) => match types::peel(ty) {
            Type::Reference(reference) if is_self(&reference.elem) => {
                (&reference.lifetime, reference.mutability.is_some())
            }
            _ => return by_value(role, written, errors),
        },
        _ => return by_value(role, written, errors),
    };
    if let Some(lifetime) = lifetime {
        let message = "the actor is lent for one call: leave out the lifetime";
        errors.push(lifetime, message);
    }
    if role == Role::Start {
        return by_value(role, written, errors);
    }
    if exclusive {
        return Receiver::Exclusive;
    }
    if role == Role::Local || role == Role::Down {
        errors.push(written, format!("a `{}` method takes `&mut self`", role.written()));
    }
    Receiver::Shared
}

/// A receiver that fits no role; what is returned for it is not generated from.
fn by_value(role: Role, written: &syn::Receiver, errors: &mut Errors) -> Receiver {
    let message = match role {
        Role::Start => {
            "`#[start]` makes the actor, so there is no `self` yet: take arguments by value and \
             return `Self`"
        }
        Role::Stop => {
            "the runtime drops the actor after `#[stop]`: take `&mut self`, and `std::mem::take` \
             what is to be given away"
        }
        _ => "the actor lives on after this call: take `&mut self` or `&self`; `cx.stop()` ends it",
    };
    errors.push(written, message);
    Receiver::Missing
}

fn is_self(ty: &Type) -> bool {
    matches!(types::peel(ty), Type::Path(path) if path.path.is_ident("Self"))
}

fn param(role: Role, typed: &syn::PatType, actor: &Type, errors: &mut Errors) -> Param {
    let ty = typed.ty.as_ref().clone();
    if types::is_interleaved(&ty) {
        return Param::Interleaved(ty);
    }
    if role == Role::Ask && types::reply_of(&ty).is_some() {
        return Param::Reply(ty);
    }
    if !types::is_context(&ty, actor) {
        return Param::Value { pattern: typed.pat.as_ref().clone(), ty };
    }
    if !matches!(types::peel(&ty), Type::Reference(reference) if reference.mutability.is_some()) {
        errors.push(&ty, "the context is lent for one call: write `cx: &mut Context<Self>`");
    }
    Param::Context(ty)
}

fn check_contexts(params: &[Param], errors: &mut Errors) {
    let contexts = params.iter().filter_map(|param| match param {
        Param::Context(ty) | Param::Interleaved(ty) => Some(ty),
        Param::Reply(_) | Param::State(..) | Param::Value { .. } => None,
    });
    for second in contexts.skip(1) {
        errors.push(second, "an actor has one context: take it once");
    }
}
