//! `#[derive(Actor)]`.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{ParseBuffer, ParseStream};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Generics, Lit, LitStr, Token, UnOp,
    parenthesized, parse_quote,
};

use crate::{crate_path, lints, options, quantity, sizes, spans};

/// How a mailbox may be declared.
const MAILBOX: &str = "`unbounded` or `bounded(1024)`";

/// How a restart policy may be declared.
const RESTART: &str = "`never`, `transient(5 in \"10s\")` or `permanent(5 in \"10s\")`";

/// How urgent an actor may be.
const PRIORITY: [(&str, &str); 2] = [("normal", "Normal"), ("high", "High")];
/// How a supervisor may be declared.
const SUPERVISE: &str = "`one_for_one(5 in \"10s\")`, `one_for_all(..)` or `rest_for_one(..)`";

/// How that is declared.
const HOW_FULL: &str = "`wait`, `reject`, `drop_newest` or `drop_oldest`";

/// What to do with a message that finds the mailbox full.
const FULL: [(&str, &str); 4] = [
    ("wait", "Wait"),
    ("reject", "Reject"),
    ("drop_newest", "DropNewest"),
    ("drop_oldest", "DropOldest"),
];

/// What `#[actor(..)]` says: builder calls for the options, in any order.
#[derive(Default)]
struct Declared {
    calls: TokenStream,
    /// Where the policy is written that needs a copy of the start arguments.
    restarts: Option<Span>,
    /// How the actor supervises its children.
    supervision: Option<TokenStream>,
    /// How many messages it may put aside.
    stash: Option<Expr>,
    /// How many of its handlers may wait without holding it.
    interleave: Option<Expr>,
}

impl Declared {
    /// Stands in for what was written and could not be read, so that nobody misses it too: the actor is still one,
    /// and still a supervisor.
    fn stand_in(&mut self, attrs: &[Attribute], runtime: &TokenStream) {
        let written = attrs.iter().filter(|attr| attr.path().is_ident("actor"));
        for token in written
            .filter_map(|attr| attr.meta.require_list().ok())
            .flat_map(|list| list.tokens.clone())
        {
            let TokenTree::Ident(name) = token else { continue };
            if name == "supervise" && self.supervision.is_none() {
                let window = quote!(::core::time::Duration::from_secs(1));
                self.supervision = Some(quote!(#runtime::Supervision::one_for_one(1, #window)));
            } else if name == "stash" && self.stash.is_none() {
                self.stash = Some(parse_quote!(1));
            } else if name == "interleave" && self.interleave.is_none() {
                self.interleave = Some(parse_quote!(1));
            }
        }
    }
}

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    check(&input)?;
    let runtime = crate_path::private();
    let mut declared = Declared::default();
    let read = options::only(&input.attrs, "actor").and_then(|attr| match attr {
        Some(attr) => attr.parse_args_with(|input: ParseStream<'_>| {
            self::declared(input, &mut declared, &runtime)
        }),
        None => Ok(()),
    });
    let errors = read.err().map(|error| {
        declared.stand_in(&input.attrs, &runtime);
        error.into_compile_error()
    });
    let inside = options::on_variants(&input.data).chain(options::on_fields(&input.data));
    let misplaced = options::none(inside, "actor", "the type itself");
    let misplaced = misplaced.map_err(Error::into_compile_error).err();
    let name = &input.ident;
    let lints = lints::deprecated(&input.attrs);
    let calls = &declared.calls;
    let keep_args = declared.restarts.map(|span| keep_args(span, &runtime));
    let generics = generics(&input, declared.restarts.is_some(), &runtime);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let supervisor = declared.supervision.map(|supervision| {
        quote! {
            #[automatically_derived]
            #lints
            impl #impl_generics #runtime::Supervisor for #name #ty_generics #where_clause {
                const SUPERVISION: #runtime::Supervision = #supervision;
            }
        }
    });
    let stashes = declared.stash.map(|stash| {
        quote! {
            #[automatically_derived]
            #lints
            impl #impl_generics #runtime::Stashes for #name #ty_generics #where_clause {
                const STASH_MAX: usize = #stash;
            }
        }
    });
    let interleaves = declared.interleave.map(|interleave| {
        quote! {
            #[automatically_derived]
            #lints
            impl #impl_generics #runtime::Interleaves for #name #ty_generics #where_clause {
                const IN_FLIGHT_MAX: usize = #interleave;
            }
        }
    });
    let size = size(&input, &runtime).map(|size| quote!(#lints #size));
    Ok(quote! {
        #[automatically_derived]
        #lints
        impl #impl_generics #runtime::Actor for #name #ty_generics #where_clause {
            const OPTIONS: #runtime::Options = #runtime::Options::new() #calls;
            #keep_args
        }
        #supervisor
        #stashes
        #interleaves
        #size
        #errors
        #misplaced
    })
}

/// Checks how large the actor is, where that is known.
fn size(input: &DeriveInput, runtime: &TokenStream) -> Option<TokenStream> {
    let name = &input.ident;
    let check = quote!(#runtime::limit_actor::<#name>());
    input.generics.params.is_empty().then(|| sizes::check(check, name.span()))
}

/// What a generic actor needs is asked of the whole type, so that its declaration need not repeat
/// the bounds of its `#[handlers]` impl.
fn generics(input: &DeriveInput, restarts: bool, runtime: &TokenStream) -> Generics {
    let mut generics = input.generics.clone();
    if generics.type_params().next().is_some() {
        let clause = generics.make_where_clause();
        clause.predicates.push(parse_quote!(Self: ::core::marker::Send + 'static));
        if restarts {
            clause.predicates.push(parse_quote! {
                Self: #runtime::Behavior<Args: ::core::clone::Clone>
            });
        }
    }
    generics
}

fn check(input: &DeriveInput) -> syn::Result<()> {
    if let Data::Union(union) = &input.data {
        let message = "an actor is a struct or an enum: wrap the union in a struct";
        return Err(Error::new_spanned(union.union_token, message));
    }
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "an actor outlives whoever spawns it: it owns its state, so store `String` \
                       instead of `&str`, or share what is borrowed in an `Arc`";
        return Err(Error::new_spanned(&lifetime.lifetime, message));
    }
    Ok(())
}

/// The arguments are cloned under a span of their own, so that an argument which is not `Clone` is
/// an error at the policy that needs the copy.
fn keep_args(span: Span, runtime: &TokenStream) -> TokenStream {
    let span = spans::located(span);
    let keep = spans::relocate(quote!(#runtime::Keep::keep), span);
    let keep = quote_spanned!(span=> #keep(args));
    quote! {
        fn keep_args(
            args: &<Self as #runtime::Behavior>::Args,
        ) -> ::core::option::Option<<Self as #runtime::Behavior>::Args> {
            ::core::option::Option::Some(#keep)
        }
    }
}

fn declared(
    input: ParseStream<'_>,
    declared: &mut Declared,
    runtime: &TokenStream,
) -> syn::Result<()> {
    let known = &["mailbox", "restart", "supervise", "priority", "stash", "interleave"];
    options::read(input, known, |name, input| {
        match name {
            "mailbox" => {
                let mailbox = mailbox(input, runtime)?;
                declared.calls.extend(quote!(.mailbox(#mailbox)));
            }
            "restart" => {
                let policy = word(&input.fork(), RESTART)?;
                let restart = restart(input, runtime)?;
                declared.calls.extend(quote!(.restart(#restart)));
                declared.restarts = (policy != "never").then(|| policy.span());
            }
            "supervise" => {
                declared.supervision = Some(supervision(input, runtime)?);
                // Its own children may take long to stop.
                declared.calls.extend(quote!(.shutdown(#runtime::Shutdown::Forever)));
            }
            "stash" => {
                let none = "a stash without room takes no message: write at least 1";
                declared.stash = Some(count(input, none)?);
            }
            "interleave" => {
                let none = "no handler could begin: write at least 1";
                declared.interleave = Some(count(input, none)?);
            }
            _ => {
                let priority = priority(input, runtime)?;
                declared.calls.extend(quote!(.priority(#priority)));
            }
        }
        Ok(())
    })
}

fn mailbox(input: ParseStream<'_>, runtime: &TokenStream) -> syn::Result<TokenStream> {
    let kind = word(input, MAILBOX)?;
    if kind == "unbounded" {
        let mut calls = quote!(#runtime::Mailbox::unbounded());
        if input.peek(syn::token::Paren) {
            let read = |input: ParseStream<'_>| mailbox_options(input, &["overload"], runtime);
            calls.extend(read(&arguments(&kind, input, "")?)?);
        }
        return Ok(calls);
    }
    if kind != "bounded" {
        let message = format!("unknown mailbox `{kind}`: write {MAILBOX}");
        return Err(Error::new(kind.span(), message));
    }
    let arguments = arguments(&kind, input, "`bounded(1024)`")?;
    let bound = |input: ParseStream<'_>| {
        let count: Expr = input.parse()?;
        if is_zero(&count) {
            let message = "a mailbox without room takes no message: write at least 1";
            return Err(Error::new_spanned(count, message));
        }
        let mut calls = quote!(#runtime::Mailbox::bounded(#count));
        comma(input)?;
        calls.extend(mailbox_options(input, &["bytes", "full", "overload"], runtime)?);
        Ok(calls)
    };
    bound(&arguments)
}

/// The calls for what is declared of a mailbox beside its bound.
fn mailbox_options(
    input: ParseStream<'_>,
    known: &[&str],
    runtime: &TokenStream,
) -> syn::Result<TokenStream> {
    let mut calls = TokenStream::new();
    options::read(input, known, |name, input| {
        let value = match name {
            "bytes" => quantity::size(input)?,
            "full" => full(input, runtime)?,
            _ => overload(input)?,
        };
        let name = Ident::new(name, Span::call_site());
        calls.extend(quote!(.#name(#value)));
        Ok(())
    })?;
    Ok(calls)
}

fn overload(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let count: Expr = input.parse()?;
    if is_zero(&count) {
        let message = "an actor without mail is not overloaded: write at least 1";
        return Err(Error::new_spanned(count, message));
    }
    Ok(quote!(#count))
}

fn full(input: ParseStream<'_>, runtime: &TokenStream) -> syn::Result<TokenStream> {
    let policy = word(input, HOW_FULL)?;
    let Some((_, variant)) = FULL.iter().find(|(name, _)| policy == name) else {
        let message = format!("unknown policy `{policy}`: write {HOW_FULL}");
        return Err(Error::new(policy.span(), message));
    };
    let variant = Ident::new(variant, Span::call_site());
    Ok(quote!(#runtime::Full::#variant))
}

fn priority(input: ParseStream<'_>, runtime: &TokenStream) -> syn::Result<TokenStream> {
    let known = "`normal` or `high`";
    let priority = word(input, known)?;
    let Some((_, variant)) = PRIORITY.iter().find(|(name, _)| priority == name) else {
        let message = format!("unknown priority `{priority}`: write {known}");
        return Err(Error::new(priority.span(), message));
    };
    let variant = Ident::new(variant, Span::call_site());
    Ok(quote!(#runtime::Priority::#variant))
}

fn restart(input: ParseStream<'_>, runtime: &TokenStream) -> syn::Result<TokenStream> {
    let policy = word(input, RESTART)?;
    if policy == "never" {
        return Ok(quote!(#runtime::Restart::never()));
    }
    if policy != "transient" && policy != "permanent" {
        let message = format!("unknown policy `{policy}`: write {RESTART}");
        return Err(Error::new(policy.span(), message));
    }
    let calls = intensity(&policy, input, "this policy allows no restart: write `never`")?;
    Ok(quote!(#runtime::Restart::#policy #calls))
}

fn supervision(input: ParseStream<'_>, runtime: &TokenStream) -> syn::Result<TokenStream> {
    let strategy = word(input, SUPERVISE)?;
    if !["one_for_one", "one_for_all", "rest_for_one"].iter().any(|known| strategy == known) {
        let message = format!("unknown strategy `{strategy}`: write {SUPERVISE}");
        return Err(Error::new(strategy.span(), message));
    }
    let none =
        "this supervisor restarts nobody: allow at least one restart, or leave `supervise` out";
    let calls = intensity(&strategy, input, none)?;
    Ok(quote!(#runtime::Supervision::#strategy #calls))
}

/// Reads `(5 in "10s", ..)` after the name of a policy: the arguments of its constructor, and calls for
/// what follows. `none` is what to say of a count of zero.
fn intensity(policy: &Ident, input: ParseStream<'_>, none: &str) -> syn::Result<TokenStream> {
    let arguments = arguments(policy, input, &format!("`{policy}(5 in \"10s\")`"))?;
    let read = |input: ParseStream<'_>| {
        let count: Expr = input.parse()?;
        if is_zero(&count) {
            return Err(Error::new_spanned(count, none));
        }
        let text = match input.parse::<Token![in]>().and_then(|_| input.fork().parse::<Lit>()) {
            Ok(Lit::Str(_)) => input.parse::<LitStr>()?,
            // A duration without quotes, and whatever else stands there.
            _ => {
                let message =
                    format!("how often, and in what time: write `{policy}(5 in \"10s\")`");
                return Err(Error::new(input.span(), message));
            }
        };
        let window = quantity::duration(&text)?;
        if window.is_zero() {
            return Err(Error::new(
                text.span(),
                "restarts are counted over some time: write \"10s\"",
            ));
        }
        let mut calls = quote!((#count, #window));
        comma(input)?;
        let (mut pauses, mut jitter) = (false, None);
        options::read(input, &["backoff", "jitter"], |name, input| {
            if name == "backoff" {
                pauses = true;
                let (first, last) = quantity::duration_range(&input.parse()?)?;
                calls.extend(quote!(.backoff(#first, #last)));
            } else {
                jitter = Some(input.span());
                let percent = quantity::percentage(&input.parse()?)?;
                calls.extend(quote!(.jitter(#percent)));
            }
            Ok(())
        })?;
        if let Some(span) = jitter.filter(|_| !pauses) {
            let message =
                "jitter shortens the pauses of a backoff: write `backoff = \"50ms..2s\"` beside it";
            return Err(Error::new(span, message));
        }
        Ok(calls)
    };
    read(&arguments)
}

/// Reads a count, of which `none` says why it is not zero.
fn count(input: ParseStream<'_>, none: &str) -> syn::Result<Expr> {
    let count: Expr = input.parse()?;
    let is_negative =
        matches!(quantity::peel(&count), Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)));
    if is_zero(&count) || is_negative {
        return Err(Error::new_spanned(count, none));
    }
    if let Expr::Lit(ExprLit { lit, .. }) = quantity::peel(&count)
        && !matches!(lit, Lit::Int(_))
    {
        return Err(Error::new_spanned(count, "this is a number: write it like `16`"));
    }
    Ok(count)
}

/// Reads the parentheses after `name`.
///
/// What is missing there is an error at the closing one.
fn arguments<'a>(
    name: &Ident,
    input: ParseStream<'a>,
    example: &str,
) -> syn::Result<ParseBuffer<'a>> {
    if !input.peek(syn::token::Paren) {
        return Err(Error::new(name.span(), format!("`{name}` takes arguments: write {example}")));
    }
    let content;
    parenthesized!(content in input);
    Ok(content)
}

/// Reads the word that a value begins with; `known` says what there is.
fn word(input: ParseStream<'_>, known: &str) -> syn::Result<Ident> {
    Ident::parse_any(input).map_err(|error| Error::new(error.span(), format!("write {known}")))
}

fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() { Ok(()) } else { input.parse::<Token![,]>().map(drop) }
}

fn is_zero(value: &Expr) -> bool {
    match quantity::peel(value) {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_digits() == "0",
        _ => false,
    }
}
