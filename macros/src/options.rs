//! Reads lists of `name = value` options.

use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Error, Ident, Token};

/// Reads `name = value, ..` to the end of `input`, and leaves each value to `take`.
///
/// # Errors
///
/// Fails on a name that is not in `known`, a name given twice, and where `take` fails.
pub(crate) fn read(
    input: ParseStream<'_>,
    known: &[&str],
    mut take: impl FnMut(&str, ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let mut seen = Vec::new();
    while !input.is_empty() {
        let key = Ident::parse_any(input)?;
        let name = key.to_string();
        if !known.contains(&name.as_str()) {
            let message = format!("unknown option `{name}`: there is {}", listed(known));
            return Err(Error::new(key.span(), message));
        }
        if seen.contains(&name) {
            return Err(Error::new(key.span(), format!("`{name}` is given twice")));
        }
        input.parse::<Token![=]>()?;
        take(&name, input)?;
        seen.push(name);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

fn listed(names: &[&str]) -> String {
    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the one attribute called `name`.
///
/// # Errors
///
/// Fails where there are several.
pub(crate) fn only<'a>(attrs: &'a [Attribute], name: &str) -> syn::Result<Option<&'a Attribute>> {
    let mut found = attrs.iter().filter(|attr| attr.path().is_ident(name));
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => {
            let message = format!("one `#[{name}(..)]` holds all options: move these there");
            Err(Error::new_spanned(second, message))
        }
    }
}
