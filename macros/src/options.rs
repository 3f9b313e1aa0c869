//! Reads lists of `name = value` options.

use proc_macro2::TokenTree;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Data, Error, Ident, Token};

use crate::errors::Errors;

/// Reads `name = value, ..` to the end of `input`, and leaves each value to `take`.
///
/// An option that is wrong keeps none of the others from being read.
///
/// # Errors
///
/// Fails on a name that is not in `known`, a name given twice, and where `take` fails; on all of them at once.
pub(crate) fn read(
    input: ParseStream<'_>,
    known: &[&str],
    mut take: impl FnMut(&str, ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let mut seen = Vec::new();
    let mut errors = Errors::default();
    while !input.is_empty() {
        if let Err(error) = one(input, known, &mut seen, &mut take) {
            errors.add(error);
            while !input.is_empty() && !input.peek(Token![,]) {
                input.parse::<TokenTree>()?;
            }
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    errors.or(())
}

/// Reads one option, up to the comma after it.
fn one(
    input: ParseStream<'_>,
    known: &[&str],
    seen: &mut Vec<String>,
    take: &mut impl FnMut(&str, ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let key = Ident::parse_any(input)?;
    let name = key.to_string();
    if !known.contains(&name.as_str()) {
        let message = format!("unknown option `{name}`: there is {}", listed(known));
        return Err(Error::new(key.span(), message));
    }
    if seen.contains(&name) {
        return Err(Error::new(key.span(), format!("`{name}` is given twice")));
    }
    seen.push(name.clone());
    input.parse::<Token![=]>()?;
    take(&name, input)?;
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(input.error("expected `,`"))
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

/// Checks that no attribute called `name` stands on these, where nobody would read it; it goes on `place`.
///
/// # Errors
///
/// Fails where there are some, on all of them at once.
pub(crate) fn none<'a>(
    attrs: impl IntoIterator<Item = &'a Attribute>,
    name: &str,
    place: &str,
) -> syn::Result<()> {
    let mut errors = Errors::default();
    for attr in attrs.into_iter().filter(|attr| attr.path().is_ident(name)) {
        errors.push(attr, format!("here nobody reads `#[{name}(..)]`: write it on {place}"));
    }
    errors.or(())
}

/// The attributes on the variants of a type.
pub(crate) fn on_variants(data: &Data) -> impl Iterator<Item = &Attribute> {
    let variants = match data {
        Data::Enum(data) => Some(&data.variants),
        Data::Struct(_) | Data::Union(_) => None,
    };
    variants.into_iter().flatten().flat_map(|variant| &variant.attrs)
}

/// The attributes on the fields of a type, also on those of its variants.
pub(crate) fn on_fields(data: &Data) -> impl Iterator<Item = &Attribute> {
    let fields: Vec<_> = match data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(data) => data.fields.named.iter().collect(),
    };
    fields.into_iter().flat_map(|field| &field.attrs)
}
