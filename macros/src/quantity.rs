//! Reads durations and sizes that are written with their unit.

use std::num::IntErrorKind;

use syn::parse::ParseStream;
use syn::{Error, Expr, ExprLit, Lit, LitStr};

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};

/// The units of a duration, in milliseconds.
const DURATIONS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// The units of a size, in bytes.
const SIZES: [(&str, u64); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// A span of time, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) struct Millis(u64);

impl Millis {
    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl ToTokens for Millis {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let millis = self.0;
        tokens.extend(quote!(::core::time::Duration::from_millis(#millis)));
    }
}

/// Reads a duration such as `"50ms"`.
pub(crate) fn duration(text: &LitStr) -> syn::Result<Millis> {
    let value = text.value();
    parse(&value, &DURATIONS).map(Millis).map_err(|reason| {
        let message = format!("{reason}: a duration is written like \"50ms\", \"10s\" or \"2m\"");
        Error::new(text.span(), message)
    })
}

/// Reads two durations such as `"50ms..2s"`.
pub(crate) fn duration_range(text: &LitStr) -> syn::Result<(Millis, Millis)> {
    let value = text.value();
    let message = "a backoff is written like \"50ms..2s\": the first pause, then the longest";
    let Some((first, last)) = value.split_once("..") else {
        return Err(Error::new(text.span(), message));
    };
    let first = duration(&LitStr::new(first, text.span()))?;
    let last = duration(&LitStr::new(last, text.span()))?;
    if first > last {
        return Err(Error::new(text.span(), message));
    }
    Ok((first, last))
}

/// Reads a share such as `"20%"`.
pub(crate) fn percentage(text: &LitStr) -> syn::Result<u32> {
    let value = text.value();
    let number = value.strip_suffix('%').filter(|number| is_number(number));
    let percent = number.and_then(|number| number.parse().ok());
    percent.filter(|percent| *percent <= 100).ok_or_else(|| {
        let message = "a share is written like \"20%\", and is at most \"100%\"";
        Error::new(text.span(), message)
    })
}

/// Reads a size: a literal with its unit, such as `"64KiB"`, or any expression that counts bytes.
pub(crate) fn size(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let value: Expr = input.parse()?;
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = peel(&value) else {
        return Ok(value.into_token_stream());
    };
    match parse(&text.value(), &SIZES) {
        // Without a type, so that rustc says so where it is more than memory can hold.
        Ok(bytes) => Ok(Literal::u64_unsuffixed(bytes).into_token_stream()),
        Err(reason) => {
            let message = format!("{reason}: a size is written like \"64KiB\" or \"1MiB\"");
            Err(Error::new(text.span(), message))
        }
    }
}

/// Takes off the invisible groups that `macro_rules!` puts around an expression, and parentheses.
pub(crate) fn peel(mut value: &Expr) -> &Expr {
    loop {
        value = match value {
            Expr::Group(group) => &group.expr,
            Expr::Paren(paren) => &paren.expr,
            _ => return value,
        };
    }
}

/// Whether this is digits alone; the standard library reads `+3` as well.
pub(crate) fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns what `text`, a whole number with its unit, is in the smallest unit.
fn parse(text: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("`{text}` does not end in a unit"));
    };
    let number: u64 =
        number.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => format!("`{text}` is too large"),
            _ => format!("`{text}` does not start with a number"),
        })?;
    number.checked_mul(*scale).ok_or_else(|| format!("`{text}` is too large"))
}

#[cfg(test)]
mod tests {
    use super::{DURATIONS, SIZES, parse};

    #[test]
    fn numbers_have_units() {
        assert_eq!(parse("50ms", &DURATIONS), Ok(50));
        assert_eq!(parse("2h", &DURATIONS), Ok(7_200_000));
        assert_eq!(parse("64KiB", &SIZES), Ok(65_536));
        for wrong in ["", "ms", "5", "5 s", "-5s", "5S", "1.5s", "99999999999999999999s"] {
            assert!(parse(wrong, &DURATIONS).is_err(), "{wrong}");
        }
        assert!(parse("18446744073709551615h", &DURATIONS).is_err());
    }
}
