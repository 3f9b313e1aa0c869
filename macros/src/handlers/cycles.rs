//! `async` methods that name themselves, as one does that sets its own timer again.
//!
//! Of an `async fn` the compiler knows that its future is `Send` only when it has seen the whole body, so that inside
//! of that, and of what that names, nobody can be told. Such a method becomes two: the `async fn` as it is, under
//! another name, and one under the user's name that calls it and says `Send` in its signature. Nothing is boxed, and
//! the future is the same.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, FnArg, ImplItem, ImplItemFn, ItemImpl, Meta, Receiver, ReturnType, Signature,
    parse_quote,
};

use super::attributes::{self, is};
use crate::spans;

/// Makes two of each of these methods of the impl that can come back to itself through the `async` ones which it
/// names.
pub(crate) fn open(item: &mut ItemImpl, methods: &[usize]) {
    let bodies: Vec<_> = item.items.iter().filter_map(Body::of).collect();
    let returning: Vec<_> = methods
        .iter()
        .copied()
        .filter(|&index| matches!(&item.items[index], ImplItem::Fn(method) if returns(&method.sig.ident, &bodies)))
        .collect();
    for index in returning {
        if let ImplItem::Fn(method) = &mut item.items[index] {
            let said = split(method);
            item.items.push(ImplItem::Verbatim(said));
        }
    }
}

/// A method whose body says whether its future is `Send`, and what that names.
struct Body {
    method: Ident,
    names: Vec<Ident>,
}

impl Body {
    fn of(item: &ImplItem) -> Option<Self> {
        let ImplItem::Fn(method) = item else { return None };
        // What it returns without `async` may say no more of itself.
        let is_opaque = || has_impl(method.sig.output.to_token_stream());
        if method.sig.asyncness.is_none() && !is_opaque() {
            return None;
        }
        let mut names = Vec::new();
        collect(method.block.to_token_stream(), &mut names);
        Some(Self { method: method.sig.ident.clone(), names })
    }
}

/// Whether a type says only what it can do, at some depth.
fn has_impl(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "impl",
        TokenTree::Group(group) => has_impl(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Collects what stands behind a path separator, or behind a dot if it is called; also inside of macros.
fn collect(tokens: TokenStream, names: &mut Vec<Ident>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut before = ' ';
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(name) if before == ':' => names.push(name.clone()),
            TokenTree::Ident(name) if before == '.' && tokens.peek().is_some_and(calls) => {
                names.push(name.clone());
            }
            TokenTree::Group(group) => collect(group.stream(), names),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        before = if let TokenTree::Punct(punct) = &token { punct.as_char() } else { ' ' };
    }
}

/// Whether what stands before this is called, with type arguments or without.
fn calls(next: &TokenTree) -> bool {
    match next {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        TokenTree::Punct(punct) => punct.as_char() == ':',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    }
}

/// Whether a method names itself, or one that leads back to it.
fn returns(method: &Ident, bodies: &[Body]) -> bool {
    let mut reached = vec![method];
    let mut next = 0;
    while let Some(&from) = reached.get(next) {
        next += 1;
        let of_that_name = bodies.iter().filter(|body| body.method == *from);
        for name in of_that_name.flat_map(|body| &body.names) {
            if name == method {
                return true;
            }
            if !reached.contains(&name) {
                reached.push(name);
            }
        }
    }
    false
}

/// Gives the method another name, and returns the one that has its name from then on.
fn split(method: &mut ImplItemFn) -> TokenStream {
    let name = method.sig.ident.clone();
    let itself = format_ident!("__{}", name.unraw(), span = spans::located(name.span()));
    let is_outside = |meta: &Meta| is(meta, &["cfg", "doc", "deprecated", "must_use"]);
    let is_lint = |meta: &Meta| is(meta, &["allow", "expect", "warn", "deny", "forbid"]);
    let copied = |keep: &dyn Fn(&Meta) -> bool| {
        let copy = |meta: &Meta| keep(meta).then(|| attributes::expect_nothing(meta));
        attributes::copied(&method.attrs, &copy)
    };
    let outside = copied(&|meta| is_outside(meta) || is_lint(meta));
    let inside = copied(&|meta| !is_outside(meta) || is(meta, &["cfg"]));
    let said = signature(method, &itself, &outside);
    method.attrs = inside;
    method.attrs.push(parse_quote!(#[doc(hidden)]));
    method.vis = syn::Visibility::Inherited;
    method.sig.ident = itself;
    said
}

/// The receiver of a method that only hands it on: the `mut` of `mut self: &mut Self` is for the body.
fn handed_on(receiver: &Receiver) -> Receiver {
    let mut receiver = receiver.clone();
    receiver.mutability = None;
    receiver
}

/// Writes the method that says `Send` and calls `itself`.
fn signature(method: &ImplItemFn, itself: &Ident, attrs: &[Attribute]) -> TokenStream {
    let ImplItemFn { vis, sig, .. } = method;
    let output = match &sig.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) => ty.clone(),
    };
    let (mut inputs, mut arguments) = (Vec::new(), Vec::new());
    for (index, input) in sig.inputs.iter().enumerate() {
        match input {
            FnArg::Receiver(receiver) => {
                arguments.push(receiver.self_token.to_token_stream());
                inputs.push(handed_on(receiver).to_token_stream());
            }
            FnArg::Typed(typed) => {
                let (ty, name) = (&typed.ty, format_ident!("arg{index}"));
                inputs.push(quote_spanned!(spans::located(ty.span())=> #name: #ty));
                arguments.push(quote_spanned!(spans::located(ty.span())=> #name));
            }
        }
    }
    // What is not `Send` is shown where it is returned.
    let span = spans::located(match &sig.output {
        ReturnType::Default => sig.ident.span(),
        ReturnType::Type(_, ty) => ty.span(),
    });
    // Of these a handler has none, and a method that is wrong no further errors for it.
    let Signature { safety, abi, generics, ident: name, .. } = sig;
    let where_clause = &generics.where_clause;
    quote_spanned! {span=>
        #(#attrs)*
        #vis #safety #abi fn #name #generics (#(#inputs),*)
            -> impl ::core::future::Future<Output = #output> + ::core::marker::Send
        #where_clause
        {
            Self::#itself(#(#arguments),*)
        }
    }
}
