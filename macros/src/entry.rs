//! `#[greenroom::main]` and `#[greenroom::test]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{AttrStyle, Attribute, FnArg, ItemFn, Type, Visibility};

use crate::errors::Errors;
use crate::{crate_path, spans};

/// Writes a plain function around an `async` one, which keeps its body and return type.
///
/// `attribute` is how the user calls the macro, `mark` what the plain function carries beside the
/// attributes of the user.
pub(crate) fn expand(
    attribute: &str,
    mark: &TokenStream,
    options: &TokenStream,
    item: TokenStream,
) -> syn::Result<TokenStream> {
    let mut function: ItemFn = syn::parse2(item)?;
    check(attribute, options, &function)?;
    let runtime = crate_path::private();
    let is_outer = |attribute: &Attribute| matches!(attribute.style, AttrStyle::Outer);
    let (outer, inner): (Vec<_>, _) =
        std::mem::take(&mut function.attrs).into_iter().partition(is_outer);
    // What stands in the body is about the body.
    function.attrs = inner;
    let vis = std::mem::replace(&mut function.vis, Visibility::Inherited);
    let sig = &function.sig;
    let (name, output) = (&sig.ident, &sig.output);
    let run = match sig.inputs.first() {
        // Located at the argument, where a type that is not `System` is the mistake.
        Some(input) => {
            let call = quote!(#runtime::run_with_system(#name));
            spans::relocate(call, spans::located(input.span()))
        }
        None => quote!(#runtime::run(#name())),
    };
    Ok(quote! {
        #mark
        #(#outer)*
        #vis fn #name() #output {
            #[allow(clippy::unused_async, reason = "the attribute asks for `async`")]
            #function
            #run
        }
    })
}

fn check(attribute: &str, options: &TokenStream, function: &ItemFn) -> syn::Result<()> {
    let mut errors = Errors::default();
    let sig = &function.sig;
    if !options.is_empty() {
        let message = format!(
            "`#[{attribute}]` takes no options: configure the system in the environment, or build \
             it with `System::builder()`"
        );
        errors.push(options, message);
    }
    if sig.asyncness.is_none() {
        errors.push(sig.fn_token, format!("`#[{attribute}]` runs a future: write `async fn`"));
    }
    if !sig.generics.params.is_empty() {
        errors.push(&sig.generics, format!("a function under `#[{attribute}]` is not generic"));
    }
    let message = "this function takes nothing, or one `System` by value: `system: System`";
    for (index, input) in sig.inputs.iter().enumerate() {
        match input {
            FnArg::Typed(typed) if index == 0 && !matches!(*typed.ty, Type::Reference(_)) => {}
            FnArg::Typed(_) | FnArg::Receiver(_) => errors.push(input, message),
        }
    }
    errors.or(())
}
