//! Reads a `#[handlers]` impl, and checks each method against its role.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::{Attribute, Error, Generics, Ident, ImplItem, ImplItemFn, ItemImpl, Pat, Type};

use super::attributes::{self, Manner, Part, Role, Stash};
use super::model::{Block, Field, Handler, Kind, Method, Param, Receiver};
use super::names::{self, Names};
use super::state::{self, Given};
use super::{Named, signature, types};
use crate::errors::Errors;
use crate::spans;

/// Takes the roles off the methods of an impl, and returns what is to be generated for them.
///
/// Notes everything that is wrong with the impl, each at its place.
///
/// # Errors
///
/// Fails where nothing can be generated.
pub(crate) fn block(named: Named, item: &mut ItemImpl, errors: &mut Errors) -> syn::Result<Block> {
    let actor = actor(item)?;
    let name = actor_name(&actor)?;
    let mut of_impl = Errors::default();
    check_impl(item, &mut of_impl);
    of_impl.or(())?;
    let mut block = Block {
        generics: generics(&item.generics, &actor)?,
        names: Names::new(&actor, name, api(named.api, &actor, errors)),
        state: named.state,
        actor: actor.clone(),
        handlers: Vec::new(),
        lints: attributes::lints(&item.attrs),
        start: None,
        stop: None,
        waiting: Vec::new(),
    };
    let mut has_state = false;
    for (index, item) in item.items.iter_mut().enumerate() {
        let ImplItem::Fn(method) = item else { continue };
        let mut wrong = Errors::default();
        let part = attributes::take_role(&mut method.attrs, &mut wrong);
        let mut manner = attributes::take_manner(&mut method.attrs, &mut wrong);
        manner.state = state::take(&mut method.sig, &mut wrong);
        has_state |= manner.state.is_some();
        if let Some(part) = part {
            if method.sig.asyncness.is_some() {
                block.waiting.push(index);
            }
            check_manner(part.role, &manner, &mut wrong);
            read(part, manner, method, &mut block, &mut wrong);
            attributes::quiet(&mut method.attrs);
            if !wrong.is_empty() {
                spoil(part.role, method, &mut block);
            }
        } else {
            check_has_role(method, &manner, &mut wrong);
        }
        errors.append(wrong);
    }
    check_variants(&mut block.handlers, errors);
    if let Some(field) = &block.state
        && !has_state
        && errors.is_empty()
    {
        let message =
            "no handler is for one state: mark a parameter with `#[state]`, or leave this out";
        errors.push(field, message);
    }
    Ok(block)
}

/// Checks that what says how a message is handled stands on a method that handles one.
fn check_has_role(method: &ImplItemFn, manner: &Manner, errors: &mut Errors) {
    let written = match manner {
        Manner { interleave: Some(_), .. } => "#[interleave]",
        Manner { stash: Some(_), .. } => "#[stash]",
        Manner { state: Some(_), .. } => "#[state]",
        _ => return,
    };
    let message = format!(
        "`{written}` says how a message is handled: mark the method with `#[tell]` or `#[ask]` too"
    );
    errors.push(&method.sig.ident, message);
}

/// Keeps of a method that is wrong what others need, and nothing that would be wrong in other places again.
fn spoil(role: Role, item: &ImplItemFn, block: &mut Block) {
    let actor = &block.actor;
    let method = match role {
        Role::Start => block.start.as_mut(),
        Role::Stop => {
            block.stop = None;
            None
        }
        Role::Tell | Role::Ask => block.handlers.last_mut().map(|handler| {
            handler.fields.clear();
            handler.manner = Manner::default();
            &mut handler.method
        }),
        Role::Local | Role::Down => None,
    };
    let Some(method) = method else { return };
    method.is_wrong = true;
    method.is_async = false;
    let is_generic = !item.sig.generics.params.is_empty();
    method.output =
        method.output.take().filter(|_| !is_generic).map(|ty| types::lasting(&ty, actor));
    for param in &mut method.params {
        if let Param::Value { ty, .. } = param {
            *ty = types::lasting(ty, actor);
        }
    }
}

fn actor(item: &ItemImpl) -> syn::Result<Type> {
    if let Some((path, _)) = &item.trait_ {
        let message = "`#[handlers]` goes on the actor's own impl: move these methods to \
                       `impl Book { .. }`, without a trait";
        return Err(Error::new_spanned(path, message));
    }
    Ok(types::peel(&item.self_ty).clone())
}

fn actor_name(actor: &Type) -> syn::Result<&Ident> {
    match actor {
        Type::Path(path) if path.qself.is_none() => {
            path.path.segments.last().map(|last| &last.ident)
        }
        _ => None,
    }
    .ok_or_else(|| {
        let message = "an actor has a name that its message type derives from: wrap this type in \
                       a struct";
        Error::new_spanned(actor, message)
    })
}

/// Returns the name of the protocol, where it is one that can be declared beside the actor.
fn api(named: Option<Ident>, actor: &Type, errors: &mut Errors) -> Option<Ident> {
    let api = named?;
    let is_taken = matches!(
        actor,
        Type::Path(path) if path.path.segments.len() == 1 && path.path.segments[0].ident.unraw() == api.unraw()
    );
    if is_taken {
        let message = "the protocol is a type of its own, beside the actor: give it another name, such as `api = BookApi`, \
                       or leave this out";
        errors.push(&api, message);
    }
    (!is_taken).then_some(api)
}

fn check_impl(item: &ItemImpl, errors: &mut Errors) {
    for lifetime in item.generics.lifetimes() {
        let message = "an actor outlives whoever spawns it: it owns its state, and has no lifetime";
        errors.push(&lifetime.lifetime, message);
    }
    if item.generics.lifetimes().next().is_none() {
        types::check_owned(&item.self_ty, "an actor", errors);
    }
}

/// Returns the generics of the impl as they can stand on items beside it.
fn generics(written: &Generics, actor: &Type) -> syn::Result<Generics> {
    let mut generics: Generics = syn::parse2(types::without_self(written, actor))?;
    if let Some(clause) = &written.where_clause {
        generics.where_clause = Some(syn::parse2(types::without_self(clause, actor))?);
    }
    Ok(generics)
}

fn read(part: Part, manner: Manner, item: &ImplItemFn, block: &mut Block, errors: &mut Errors) {
    let Part { role, cancel } = part;
    let mut method =
        signature::method(role, &item.sig, manner.state.as_ref(), &block.actor, errors);
    if cancel && manner.state.is_some() {
        let message = "a handler that has the state out is not cancelled, which would lose it: write \
                       `#[ask]`";
        errors.push(&item.sig.ident, message);
    }
    if let Some(given) = &manner.state {
        let is_asked = role == Role::Ask;
        check_state(given, block.state.as_ref(), role, &manner, item, errors);
        // Whoever takes a `Reply` as well hears of that alone.
        let replies = method.params.iter().any(|param| matches!(param, Param::Reply(_)));
        if !(is_asked && replies)
            && let Some(answer) = state::check(given, is_asked, &item.sig, errors)
        {
            method.output = Some(answer);
        }
    }
    check_interleaved_params(&method, &manner, errors);
    match role {
        Role::Start => {
            check_start(&method, errors);
            set_hook(role, &mut block.start, method, item, errors);
        }
        Role::Stop => {
            check_stop(&method, item, errors);
            set_hook(role, &mut block.stop, method, item, errors);
        }
        Role::Tell => {
            block.handlers.push(handler(Kind::Tell, method, manner, item, &block.actor, errors));
        }
        Role::Ask => {
            let gives = take_reply(&mut method, cancel, &manner, errors);
            if let Some(output) = &method.output {
                types::check_owned(output, "an answer", errors);
            }
            let arguments: Vec<_> =
                method.values().filter_map(|(pat, _)| pattern_name(pat)).collect();
            let kind = Kind::Ask { reply: names::reply(&arguments), cancel, gives };
            block.handlers.push(handler(kind, method, manner, item, &block.actor, errors));
        }
        Role::Local | Role::Down => check_callback(role, &method, item, errors),
    }
}

/// Says whether an asked handler is given the reply; then the answer is what that takes.
fn take_reply(method: &mut Method, cancel: bool, manner: &Manner, errors: &mut Errors) -> bool {
    let mut replies = method.params.iter().filter_map(|param| match param {
        Param::Reply(ty) => Some(ty),
        _ => None,
    });
    let Some(first) = replies.next() else { return false };
    for second in replies {
        errors.push(second, "a question has one asker: take its `Reply` once");
    }
    if manner.state.is_some() {
        let message = "a handler of one state answers by what it returns: leave out the `Reply`";
        errors.push(first, message);
    } else if let Some(output) = &method.output {
        let message = "the asker gets what is sent to its `Reply`: return nothing, or leave the `Reply` out; \
                       another type of this name needs another one here (`use other::Reply as Theirs`)";
        errors.push(output, message);
    }
    if cancel {
        let message = "whoever has the `Reply` looks whether its asker has gone: write `#[ask]`, and \
                       `reply.is_abandoned()` where that matters";
        errors.push(first, message);
    }
    method.output = types::reply_of(first).cloned();
    true
}

fn check_manner(role: Role, manner: &Manner, errors: &mut Errors) {
    if let Some(Stash::Elsewhere(attr)) = &manner.stash
        && manner.state.is_none()
    {
        errors.push(attr, attributes::HOW_TO_STASH);
    }
    if matches!(role, Role::Tell | Role::Ask) {
        return;
    }
    let written = role.written();
    if let Some(Stash::While(condition)) = &manner.stash {
        let message = format!("only what is told or asked is stashed, not a call of `{written}`");
        errors.push(condition, message);
    }
    if let Some(attr) = &manner.interleave {
        let message = format!(
            "only a `#[tell]` or `#[ask]` method lets others in while it waits, not `{written}`"
        );
        errors.push(attr, message);
    }
}

fn check_interleaved_params(method: &Method, manner: &Manner, errors: &mut Errors) {
    for param in &method.params {
        if let Param::Interleaved(ty) = param
            && manner.interleave.is_none()
        {
            let message = "this method has its actor to itself: take `&mut self` and \
                           `cx: &mut Context<Self>`, or write `#[interleave]` on it";
            errors.push(ty, message);
        }
    }
}

/// Checks that a handler of one state can have it.
fn check_state(
    given: &Given,
    field: Option<&Ident>,
    role: Role,
    manner: &Manner,
    item: &ImplItemFn,
    errors: &mut Errors,
) {
    if !matches!(role, Role::Tell | Role::Ask) {
        let written = role.written();
        let message = format!(
            "a `{written}` method is called in every state: look at the field, and go over by `enter`"
        );
        errors.push(&given.ty, message);
    }
    if field.is_none() {
        let message = "say which field of the actor holds its state: `#[handlers(state = line)]`";
        errors.push(&given.ty, message);
    }
    if manner.interleave.is_some() {
        let message =
            "the state changes while an interleaved handler waits: look at it in `cx.with(..)`";
        errors.push(&given.ty, message);
    }
    if item.sig.receiver().is_some_and(|receiver| !is_exclusive(receiver)) {
        errors.push(&given.ty, "whoever is given the state has the actor: take `&mut self`");
    }
}

fn is_exclusive(receiver: &syn::Receiver) -> bool {
    matches!(&receiver.kind, syn::ReceiverKind::Reference(_, _, mutability) if mutability.is_some())
}

/// Checks that a handler which does not hold its actor has nothing of it while it waits, and that others
/// do hold it.
fn check_interleave(
    method: &Method,
    attr: Option<&Attribute>,
    item: &ImplItemFn,
    errors: &mut Errors,
) {
    const STATE: &str = "write `cx: &mut Interleaved<Self>`, and reach the state between two awaits with \
                         `cx.with(|me, cx| ..)`";
    let Some(attr) = attr else { return check_has_receiver(method, item, errors) };
    if let Some(receiver) = item.sig.receiver() {
        let message = format!(
            "others change the actor while this handler waits, so it has no `self`: {STATE}"
        );
        errors.push(receiver, message);
    }
    for param in &method.params {
        if let Param::Context(ty) = param {
            errors.push(ty, format!("the context is the actor's, as the state is: {STATE}"));
        }
    }
    if !method.is_async {
        let message = "a handler that never waits needs no `#[interleave]`: make it `async`, or leave this out";
        errors.push(attr, message);
    }
}

fn set_hook(
    role: Role,
    hook: &mut Option<Method>,
    method: Method,
    item: &ImplItemFn,
    errors: &mut Errors,
) {
    let written = role.written();
    if hook.is_some() {
        errors.push(&item.sig.ident, format!("this is the second `{written}`: an actor has one"));
        return;
    }
    for cfg in attributes::cfgs(&item.attrs) {
        let message = format!("`{written}` is always there: write the `#[cfg]` in its body");
        errors.push(cfg, message);
    }
    *hook = Some(method);
}

fn check_start(method: &Method, errors: &mut Errors) {
    for (_, ty) in method.values() {
        types::check_owned(ty, "an argument of `#[start]`", errors);
    }
    match &method.output {
        Some(output) => types::check_owned(output, "an actor", errors),
        None => {
            let message = "`#[start]` returns the actor: write `-> Self`, or \
                           `-> Result<Self, StartError>` if it can fail";
            errors.push(&method.name, message);
        }
    }
}

fn check_stop(method: &Method, item: &ImplItemFn, errors: &mut Errors) {
    check_has_receiver(method, item, errors);
    for (_, ty) in method.values().skip(1) {
        let message = "`#[stop]` is given nothing but `reason: ExitReason` and the context";
        errors.push(ty, message);
    }
}

/// Checks a method that is handed to the context as a function: its shape must be one that the
/// context takes.
fn check_callback(role: Role, method: &Method, item: &ImplItemFn, errors: &mut Errors) {
    check_has_receiver(method, item, errors);
    let values = method.values().count();
    if role == Role::Down && values != 1 {
        let message = "`#[down]` is given what ended: write `(&mut self, down: Down)`, with or \
                       without the context";
        errors.push(&method.name, message);
    }
    for (_, ty) in method.values().skip(1).filter(|_| role == Role::Local) {
        errors.push(ty, "a `#[local]` method is given at most one value: make them a tuple");
    }
    let last = method.params.len().saturating_sub(1);
    for (index, param) in method.params.iter().enumerate() {
        if let Param::Context(ty) = param
            && index != last
        {
            let written = role.written();
            errors.push(ty, format!("a `{written}` method takes the context last"));
        }
    }
}

fn check_has_receiver(method: &Method, item: &ImplItemFn, errors: &mut Errors) {
    if method.receiver == Receiver::Missing && item.sig.receiver().is_none() {
        errors.push(&method.name, "this works on the actor: add `&mut self` as the first argument");
    }
}

fn handler(
    kind: Kind,
    method: Method,
    manner: Manner,
    item: &ImplItemFn,
    actor: &Type,
    errors: &mut Errors,
) -> Handler {
    check_interleave(&method, manner.interleave.as_ref(), item, errors);
    if names::is_reserved(&method.name) {
        let message = format!(
            "every reference has a method `{}`, which would hide this one: choose another name",
            method.name.unraw()
        );
        errors.push(&method.name, message);
    }
    let values: Vec<_> = method.values().map(|(pat, ty)| field(pat, ty, actor, errors)).collect();
    Handler {
        kind,
        variant: names::variant(&method.name),
        fields: values.into_iter().flatten().collect(),
        manner,
        cfgs: attributes::cfgs(&item.attrs),
        docs: attributes::docs(&item.attrs),
        lints: attributes::lints(&item.attrs),
        method,
    }
}

fn field(pattern: &Pat, ty: &Type, actor: &Type, errors: &mut Errors) -> Option<Field> {
    types::check_owned(ty, "an argument of a handler", errors);
    let Some(written) = pattern_name(pattern) else {
        let message = "an argument is a part of the message and needs a name: write `name: Type`, \
                       and take it apart in the body";
        errors.push(pattern, message);
        return None;
    };
    let ty: TokenStream = types::without_self(ty, actor);
    Some(Field { name: spans::generated(&written), written, ty })
}

/// Returns the name that a pattern gives to the whole value; `mut` does not matter.
fn pattern_name(pattern: &Pat) -> Option<Ident> {
    match pattern {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Some(pat.ident.clone()),
        _ => None,
    }
}

/// Two names that differ in their underscores alone would be one variant. Two methods of one name
/// are left to rustc, as they may stand under different `#[cfg]`s.
fn check_variants(handlers: &mut Vec<Handler>, errors: &mut Errors) {
    let mut clashes = Vec::new();
    for (index, handler) in handlers.iter().enumerate() {
        let name = &handler.method.name;
        let clash = handlers[..index]
            .iter()
            .find(|earlier| earlier.variant == handler.variant && earlier.method.name != *name);
        if let Some(earlier) = clash {
            let message = format!(
                "`{}` and `{name}` would both be the message `{}`: rename one",
                earlier.method.name, handler.variant
            );
            errors.add(Error::new(name.span(), message));
            clashes.push(index);
        }
    }
    for index in clashes.into_iter().rev() {
        handlers.remove(index);
    }
}
