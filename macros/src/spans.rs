//! Where generated tokens point, and where their names resolve.

use proc_macro2::{Ident, Span, TokenStream};

/// Returns a span that points at the user's code and still counts as generated, so that lints on
/// what the user did not write stay quiet.
pub(crate) fn located(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// Makes tokens point at `span`, and resolve where they did.
///
/// rustc shows an expression from its first token to its last, so all of them have to move.
pub(crate) fn relocate(tokens: TokenStream, span: Span) -> TokenStream {
    let relocated = tokens.into_iter().map(|mut token| {
        token.set_span(token.span().located_at(span));
        token
    });
    relocated.collect()
}

/// Returns a name of the user's as one that counts as generated.
///
/// Generated tokens are of the edition of this crate, in which it may be a keyword that it is not in the user's.
pub(crate) fn generated(name: &Ident) -> Ident {
    let span = located(name.span());
    if name == "gen" {
        return Ident::new_raw("gen", span);
    }
    let mut name = name.clone();
    name.set_span(span);
    name
}
