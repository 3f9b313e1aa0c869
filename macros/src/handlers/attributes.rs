//! The attributes of a method: its role, and what generated items take over.

use std::iter;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{AttrStyle, Attribute, Expr, Ident, ImplItem, ItemImpl, Meta, Path, Token, parse_quote};

use super::state::{self, Given};
use crate::errors::Errors;
use crate::spans;

/// Says when a message is put aside.
const STASH: &str = "stash";

/// Says that a handler does not hold its actor while it waits.
const INTERLEAVE: &str = "interleave";

/// How a stash is written.
pub(crate) const HOW_TO_STASH: &str = "say when the message is put aside, as in `#[stash(while = self.is_busy)]`: \
     a condition on `&self`, and on the arguments, which are lent to it";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Start,
    Stop,
    Tell,
    Ask,
    Local,
    Down,
}

impl Role {
    const ALL: [Self; 6] =
        [Self::Start, Self::Stop, Self::Tell, Self::Ask, Self::Local, Self::Down];

    /// Returns the attribute as the user writes it.
    pub(crate) fn written(self) -> &'static str {
        match self {
            Self::Start => "#[start]",
            Self::Stop => "#[stop]",
            Self::Tell => "#[tell]",
            Self::Ask => "#[ask]",
            Self::Local => "#[local]",
            Self::Down => "#[down]",
        }
    }

    fn of(path: &Path) -> Option<Self> {
        let name = path.get_ident()?.to_string();
        Self::ALL.into_iter().find(|role| role.written()[2..].trim_end_matches(']') == name)
    }
}

/// What a method's attributes say of it.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) role: Role,
    /// Whether it is written `#[ask(cancel)]`.
    pub(crate) cancel: bool,
}

/// Takes the role off a method's attributes.
pub(crate) fn take_role(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Option<Part> {
    take_conditional(attrs, errors);
    let mut taken = None;
    for attr in attrs.extract_if(.., |attr| Role::of(attr.path()).is_some()) {
        let Some(role) = Role::of(attr.path()) else { continue };
        let written = role.written();
        let cancel = is_cancel(role, &attr, errors);
        match taken {
            None => taken = Some(Part { role, cancel }),
            Some(first) if first.role == role => {
                errors.push(&attr, format!("`{written}` is written twice: once is enough"));
            }
            Some(first) => errors.push(&attr, two_roles(first.role, role)),
        }
    }
    taken
}

/// Leaves lints quiet that a method's role decides.
pub(crate) fn quiet(attrs: &mut Vec<Attribute>) {
    // First, so that what the user says about these lints has the last word.
    attrs.insert(
        0,
        parse_quote! {
            #[allow(
                clippy::missing_const_for_fn, clippy::needless_pass_by_ref_mut,
                clippy::needless_pass_by_value, clippy::unused_self,
                reason = "the role of this method decides on its shape"
            )]
        },
    );
}

/// How a message is handled, beside its role.
#[derive(Default)]
pub(crate) struct Manner {
    /// When it is put aside.
    pub(crate) stash: Option<Stash>,
    /// Whether its handler lets others in while it waits; the attribute that says so.
    pub(crate) interleave: Option<Attribute>,
    /// The state in which it is handled, where that is one.
    pub(crate) state: Option<Given>,
}

/// When a message is put aside.
pub(crate) enum Stash {
    /// While this holds.
    While(Expr),
    /// In every state but that of its handler; the attribute that says so.
    Elsewhere(Attribute),
}

/// Takes what says how a message is handled off a method's attributes.
pub(crate) fn take_manner(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Manner {
    Manner {
        stash: take_stash(attrs, errors),
        interleave: take_interleave(attrs, errors),
        state: None,
    }
}

fn take_interleave(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Option<Attribute> {
    let taken: Vec<_> = attrs.extract_if(.., |attr| attr.path().is_ident(INTERLEAVE)).collect();
    for attr in &taken {
        if !matches!(attr.meta, Meta::Path(_)) {
            let message = "`#[interleave]` takes no options: how many handlers may wait at a time \
                           stands in `#[actor(interleave = 16)]`";
            errors.push(attr, message);
        }
    }
    for attr in taken.iter().skip(1) {
        errors.push(attr, "`#[interleave]` is written twice: once is enough");
    }
    taken.into_iter().next()
}

/// Takes `#[stash]` off, with or without a condition.
fn take_stash(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Option<Stash> {
    let mut taken = None;
    for attr in attrs.extract_if(.., |attr| attr.path().is_ident(STASH)) {
        if taken.is_some() {
            errors.push(&attr, "`#[stash(..)]` is written twice: join the conditions by `||`");
        }
        if matches!(attr.meta, Meta::Path(_)) {
            taken = Some(Stash::Elsewhere(attr));
            continue;
        }
        match attr.parse_args_with(condition) {
            Ok(condition) => taken = Some(Stash::While(condition)),
            Err(_) => errors.push(&attr, HOW_TO_STASH),
        }
    }
    taken
}

fn condition(input: ParseStream<'_>) -> syn::Result<Expr> {
    input.parse::<Token![while]>()?;
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Reads the one option that a role has: the `cancel` of `#[ask(cancel)]`.
fn is_cancel(role: Role, attr: &Attribute, errors: &mut Errors) -> bool {
    let written = role.written();
    match &attr.meta {
        Meta::Path(_) => return false,
        _ if role != Role::Ask => errors.push(attr, format!("`{written}` takes no options")),
        Meta::List(list) if list.tokens.to_string() == "cancel" => return true,
        Meta::List(_) | Meta::NameValue(_) => {
            let message = "`#[ask]` has one option: `#[ask(cancel)]`, whose handler is cancelled \
                           when its asker goes";
            errors.push(attr, message);
        }
    }
    false
}

/// Takes off what says how a method is called, or a message handled, under a condition. It would come too late: only
/// rustc knows whether that holds.
fn take_conditional(attrs: &mut Vec<Attribute>, errors: &mut Errors) {
    attrs.retain(|attr| {
        let mut is_right = true;
        for path in conditional(&attr.meta) {
            if let Some(role) = Role::of(&path) {
                let written = role.written();
                let message = format!(
                    "a role has no condition: write `{written}`, and `#[cfg(..)]` beside it"
                );
                errors.push(&path, message);
                is_right = false;
            }
            is_right &= check_unconditional(&path, &[STASH, INTERLEAVE], errors);
        }
        is_right
    });
}

/// The names of the attributes under a `cfg_attr`, and under one in that.
pub(crate) fn conditional(meta: &Meta) -> Vec<Path> {
    let added = added(meta).into_iter().flat_map(|(_, added)| added);
    added.flat_map(|meta| iter::once(meta.path().clone()).chain(conditional(&meta))).collect()
}

/// The condition of a `cfg_attr`, and the attributes that it adds.
type Added = (TokenStream, Punctuated<Meta, Token![,]>);

/// Reads a `cfg_attr`. What is no list of attributes is left to rustc.
fn added(meta: &Meta) -> Option<Added> {
    let list = meta.require_list().ok().filter(|list| list.path.is_ident("cfg_attr"))?;
    list.parse_args_with(condition_and_added).ok()
}

fn condition_and_added(input: ParseStream<'_>) -> syn::Result<Added> {
    // Of tokens: `true` is a condition, and no attribute.
    let mut condition = TokenStream::new();
    while !input.peek(Token![,]) {
        condition.extend([input.parse::<TokenTree>()?]);
    }
    input.parse::<Token![,]>()?;
    Ok((condition, Punctuated::parse_terminated(input)?))
}

/// Checks that an attribute under a condition is none of these, and says whether that is so.
pub(crate) fn check_unconditional(path: &Path, names: &[&str], errors: &mut Errors) -> bool {
    let Some(name) = names.iter().find(|name| path.is_ident(name)) else { return true };
    let message = format!(
        "`#[{name}]` has no condition: write the method twice, each under its own `#[cfg(..)]`"
    );
    errors.push(path, message);
    false
}

fn two_roles(first: Role, second: Role) -> String {
    match (first, second) {
        (Role::Tell, Role::Ask) | (Role::Ask, Role::Tell) => "a handler is told or asked, never \
             both: keep `#[ask]` if callers need the answer, and `#[tell]` if they do not wait"
            .to_owned(),
        _ => format!(
            "a method has one role, and this one is `{}` already: write a second method for \
             `{}`, and let both call a third",
            first.written(),
            second.written()
        ),
    }
}

/// Takes all that is for these macros off all methods, when there is nothing to generate from them.
pub(crate) fn strip(item: &mut ItemImpl) {
    // Beside what is wrong with the impl nothing is said.
    let mut unsaid = Errors::default();
    for item in &mut item.items {
        if let ImplItem::Fn(method) = item {
            take_role(&mut method.attrs, &mut unsaid);
            take_manner(&mut method.attrs, &mut unsaid);
            state::take(&mut method.sig, &mut unsaid);
        }
    }
}

/// Returns what `copy` makes of these attributes, for an item beside. Of a `cfg_attr` it is asked for each one that this adds,
/// and the condition stays around those: only rustc knows whether it holds.
pub(crate) fn copied(attrs: &[Attribute], copy: &dyn Fn(&Meta) -> Option<Meta>) -> Vec<Attribute> {
    let copied = attrs.iter().filter_map(|attr| {
        let meta = copied_meta(&attr.meta, copy)?;
        // What is written inside of the method stands before the copy.
        Some(Attribute { style: AttrStyle::Outer, meta, ..attr.clone() })
    });
    copied.collect()
}

fn copied_meta(meta: &Meta, copy: &dyn Fn(&Meta) -> Option<Meta>) -> Option<Meta> {
    let Some((condition, added)) = added(meta) else { return copy(meta) };
    let mut list = meta.require_list().ok()?.clone();
    let added: Vec<_> = added.iter().filter_map(|meta| copied_meta(meta, copy)).collect();
    list.tokens = quote!(#condition, #(#added),*);
    (!added.is_empty()).then_some(Meta::List(list))
}

/// Returns the conditions under which a method exists.
pub(crate) fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    copied(attrs, &|meta| is(meta, &["cfg"]).then(|| meta.clone()))
}

/// Returns what one of these conditions comes to, as the argument of a `cfg`.
pub(crate) fn predicate(cfg: &Meta) -> Option<TokenStream> {
    let Some((condition, added)) = added(cfg) else {
        return cfg.require_list().ok().map(|list| list.tokens.clone());
    };
    let added = added.iter().filter_map(predicate);
    Some(quote!(any(not(#condition), all(#(#added),*))))
}

/// Returns the lints that are allowed where this is written, so that they are on the copies too.
///
/// One that is expected is allowed there: it may be about the body alone.
pub(crate) fn lints(attrs: &[Attribute]) -> Vec<Attribute> {
    copied(attrs, &|meta| is(meta, &["allow", "expect"]).then(|| expect_nothing(meta)))
}

/// Whether this is an attribute of one of these names.
pub(crate) fn is(meta: &Meta, names: &[&str]) -> bool {
    names.iter().any(|name| meta.path().is_ident(name))
}

/// Lets a lint that is expected be or not be: of two places only one may have it.
pub(crate) fn expect_nothing(meta: &Meta) -> Meta {
    let mut meta = meta.clone();
    if let Meta::List(list) = &mut meta
        && list.path.is_ident("expect")
    {
        let allow = Ident::new("allow", spans::located(list.path.span()));
        list.path = Path::from(allow);
    }
    meta
}

/// Returns what a method says to its callers.
pub(crate) fn docs(attrs: &[Attribute]) -> Vec<Attribute> {
    copied(attrs, &|meta| is(meta, &["doc", "deprecated"]).then(|| meta.clone()))
}
