//! Looks into the types that the user wrote.

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{GenericArgument, Lifetime, PathArguments, Type, parse_quote};

use crate::errors::Errors;
use crate::spans;

/// Takes off the invisible groups that `macro_rules!` puts around a type, and parentheses.
pub(crate) fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

/// Says whether this is a `Context<..>` behind a reference, or the one of the actor.
pub(crate) fn is_context(ty: &Type, actor: &Type) -> bool {
    match peel(ty) {
        Type::Reference(reference) => is_context_of(&reference.elem, |_| true),
        // By value it may be a part of the message, by that name in another crate.
        ty => is_context_of(ty, |of| {
            without_self(of, actor).to_string() == actor.to_token_stream().to_string()
        }),
    }
}

fn is_context_of(ty: &Type, is_meant: impl Fn(&Type) -> bool) -> bool {
    // Another `Context`, such as that of `std::task`, is not generic over a type.
    types_of(peel(ty), "Context")
        .is_some_and(|types| types.len() == 1 && types.into_iter().all(is_meant))
}

/// Says whether this is a `&mut Interleaved<..>`.
pub(crate) fn is_interleaved(ty: &Type) -> bool {
    let Type::Reference(reference) = peel(ty) else { return false };
    let types = types_of(peel(&reference.elem), "Interleaved");
    reference.mutability.is_some() && types.is_some_and(|types| types.len() == 1)
}

/// Returns the answer that a `Reply<..>` takes, if this is one, by whatever path: nobody knows here what a path leads to.
pub(crate) fn reply_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = peel(ty) else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == "Reply")?;
    let PathArguments::AngleBracketed(list) = &segment.arguments else { return None };
    match list.args.first() {
        Some(GenericArgument::Type(answer)) if list.args.len() == 1 => Some(answer),
        _ => None,
    }
}

/// Says whether the return type is written as some `Result<..>`.
///
/// Its error is flattened into the one of the ask. A bare `Result` may be anybody's type, and a
/// macro does not see whose; with arguments it is one of `core`'s or an alias of it.
pub(crate) fn is_result(ty: &Type) -> bool {
    types_of(peel(ty), "Result").is_some_and(|types| !types.is_empty())
}

/// Returns the types that a path is given whose last name is this.
fn types_of<'a>(ty: &'a Type, name: &str) -> Option<Vec<&'a Type>> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(list) = &segment.arguments else { return Some(Vec::new()) };
    let types = list.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    Some(types.collect())
}

/// Checks that values of a type may outlive the caller, and that the type can be repeated.
pub(crate) fn check_owned(ty: &Type, what: &str, errors: &mut Errors) {
    Owned { what, errors, bound: Vec::new() }.visit_type(ty);
}

struct Owned<'a> {
    /// What has the type, as an error calls it.
    what: &'a str,
    errors: &'a mut Errors,
    /// The lifetimes that a `for<..>` around this place has introduced.
    bound: Vec<Ident>,
}

impl<'ast> Visit<'ast> for Owned<'_> {
    fn visit_type_reference(&mut self, reference: &'ast syn::TypeReference) {
        if reference.lifetime.is_none() {
            let what = self.what;
            let message = format!(
                "{what} outlives the caller, so it is owned: write `String` instead \
                 of `&str`, `Vec<T>` instead of `&[T]`, `Arc<T>` to share; the context of the \
                 actor is `cx: &mut Context<Self>`"
            );
            self.errors.push(reference, message);
        }
        visit::visit_type_reference(self, reference);
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" && !self.bound.contains(&lifetime.ident) {
            let what = self.what;
            let message =
                format!("{what} outlives the caller: it borrows nothing but `'static` data");
            self.errors.push(lifetime, message);
        }
    }

    fn visit_type_impl_trait(&mut self, ty: &'ast syn::TypeImplTrait) {
        let message = "a handler has one message, whose parts have types with a name: write the \
                       type, or `Box<dyn Trait + Send>`";
        self.errors.push(ty, message);
    }

    // Lifetimes left out in the arguments of a function belong to that function.
    fn visit_type_fn_ptr(&mut self, _: &'ast syn::TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments(
        &mut self,
        _: &'ast syn::ParenthesizedGenericArguments,
    ) {
    }

    fn visit_trait_bound(&mut self, bound: &'ast syn::TraitBound) {
        let outside = self.bound.len();
        for param in bound.lifetimes.iter().flat_map(|lifetimes| &lifetimes.lifetimes) {
            if let syn::GenericParam::Lifetime(param) = param {
                self.bound.push(param.lifetime.ident.clone());
            }
        }
        self.visit_path(&bound.path);
        self.bound.truncate(outside);
    }
}

/// Returns a type that can stand in for one which is wrong: what it borrows, it borrows for ever.
pub(crate) fn lasting(ty: &Type, actor: &Type) -> Type {
    let tokens = without_self(ty, actor);
    let text = tokens.to_string();
    let words = || text.split(|c: char| !c.is_alphanumeric() && c != '_');
    if words().any(|word| word == "impl" || word == "for") {
        return parse_quote!(());
    }
    syn::parse2(lasts(tokens)).unwrap_or_else(|_| parse_quote!(()))
}

fn lasts(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter().peekable();
    let mut lasting = TokenStream::new();
    while let Some(token) = tokens.next() {
        let is = |token: Option<&TokenTree>, mark| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark);
        if is(Some(&token), '\'') {
            tokens.next();
            lasting.extend(quote!('static));
            continue;
        }
        let borrows = is(Some(&token), '&') && !is(tokens.peek(), '\'');
        match token {
            TokenTree::Group(group) => {
                let inner = lasts(group.stream());
                lasting
                    .extend([TokenTree::Group(proc_macro2::Group::new(group.delimiter(), inner))]);
            }
            token => lasting.extend([token]),
        }
        lasting.extend(borrows.then(|| quote!('static)));
    }
    lasting
}

/// Repeats tokens with `Self` replaced by the type it stands for.
///
/// This works on tokens and not on the syntax tree so as to reach into macros too.
pub(crate) fn without_self(tokens: impl ToTokens, actor: &Type) -> TokenStream {
    let mut tokens = tokens.into_token_stream().into_iter().peekable();
    let mut replaced = TokenStream::new();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) if ident == "Self" => {
                let actor = spans::relocate(actor.to_token_stream(), ident.span());
                // `Self::Item` needs `<Book<T>>::Item`; a type as such must not have the brackets.
                let is_path = matches!(
                    tokens.peek(),
                    Some(TokenTree::Punct(p)) if p.as_char() == ':' && p.spacing() == Spacing::Joint
                );
                replaced.extend(if is_path { quote!(<#actor>) } else { actor });
            }
            TokenTree::Group(group) => {
                let inner = without_self(group.stream(), actor);
                let mut outer = proc_macro2::Group::new(group.delimiter(), inner);
                outer.set_span(group.span());
                replaced.extend([TokenTree::Group(outer)]);
            }
            token => replaced.extend([token]),
        }
    }
    replaced
}
