//! The names that are made up for generated items, and those that are taken.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::Type;
use syn::ext::IdentExt;

use crate::spans;

/// What a reference has methods for. Callers write `book.quote(..)` on a `Ref<Book>`, whose own
/// methods come first: a handler of the same name could not be reached.
const RESERVED: [&str; 19] = [
    "api",
    "ask",
    "clone",
    "clone_from",
    "drain",
    "ended",
    "eq",
    "id",
    "into",
    "is_closed",
    "kill",
    "migrate",
    "ne",
    "pressure",
    "recipient",
    "stop",
    "tell",
    "to_owned",
    "try_into",
];

/// The items that one block generates.
pub(crate) struct Names {
    /// The protocol, where it has a name of its own.
    pub(crate) api: Option<Ident>,
    pub(crate) message: Ident,
    pub(crate) calls: Ident,
    /// What the block is of, as a part of a name.
    of: String,
}

impl Names {
    pub(crate) fn new(actor: &Type, name: &Ident, api: Option<Ident>) -> Self {
        let base = api.as_ref().unwrap_or(name);
        let span = spans::located(base.span());
        let message = format_ident!("{}Message", base.unraw(), span = span);
        let calls = format_ident!("{}Calls", base.unraw(), span = span);
        // Actors that differ in their parameters alone may each have such a block, if the protocols differ.
        let of = if api.is_some() {
            actor.to_token_stream().to_string()
        } else {
            name.unraw().to_string()
        };
        let of = of.replace("r#", "").replace(|c: char| !c.is_alphanumeric(), "_");
        Self { api, message, calls, of }
    }

    /// Returns an item whose name says what is wrong when rustc finds it twice. It comes before the others that
    /// a second block repeats.
    pub(crate) fn once(&self) -> TokenStream {
        let once = format_ident!("{}_has_two_handlers_blocks_where_one_is_allowed", self.of);
        quote! {
            #[allow(dead_code, non_camel_case_types, reason = "its name is for the compiler to say")]
            #[doc(hidden)]
            enum #once {}
        }
    }
}

/// Says whether callers could not reach a handler of this name.
pub(crate) fn is_reserved(method: &Ident) -> bool {
    RESERVED.contains(&method.unraw().to_string().as_str())
}

/// Returns the name of the message variant for a handler: `best_bid` becomes `BestBid`.
pub(crate) fn variant(method: &Ident) -> Ident {
    let mut name = String::new();
    for word in method.unraw().to_string().split('_') {
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        name.extend(letters);
    }
    // A method may start with underscores and a digit, a variant only with a letter.
    let starts_well = name.starts_with(|c: char| c.is_alphabetic());
    let name = match name.as_str() {
        "Self" => "Self_".to_owned(),
        _ if starts_well => name,
        _ => format!("Handler{name}"),
    };
    Ident::new(&name, spans::located(method.span()))
}

/// Returns a name for the reply that no argument has.
pub(crate) fn reply(arguments: &[Ident]) -> Ident {
    let mut name = "reply".to_owned();
    while arguments.iter().any(|argument| argument.unraw() == name) {
        name.push('_');
    }
    format_ident!("{name}")
}
