//! `#[derive(States)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Error, Fields, Ident, Type, Variant};

use crate::errors::Errors;
use crate::{crate_path, lints};

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let Data::Enum(data) = &input.data else {
        let message = "a set of states is an enum: one variant for each, such as `Idle(Idle)`";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let mut errors = Errors::default();
    let states: Vec<_> =
        data.variants.iter().filter_map(|variant| state(variant, &mut errors)).collect();
    for (index, (variant, ty)) in states.iter().enumerate() {
        let is_same = |other: &&Type| same(other, ty);
        if states[..index].iter().map(|(_, ty)| *ty).any(|other| is_same(&other)) {
            let message =
                format!("another variant holds this type: give `{variant}` one of its own");
            errors.push(ty, message);
        }
    }
    errors.or(())?;
    let runtime = crate_path::private();
    let name = &input.ident;
    let lints = lints::deprecated(lints::attributes(&input));
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let indices =
        states.iter().enumerate().map(|(index, (variant, _))| quote!(Self::#variant(_) => #index,));
    let each = states.iter().map(|(variant, ty)| {
        quote! {
            #[automatically_derived]
            #lints
            impl #impl_generics ::core::convert::From<#ty> for #name #ty_generics #where_clause {
                fn from(state: #ty) -> Self {
                    Self::#variant(state)
                }
            }

            #[automatically_derived]
            #lints
            #[allow(unreachable_patterns, reason = "there may be one state only")]
            impl #impl_generics #runtime::Holds<#ty> for #name #ty_generics #where_clause {
                fn holds(&self) -> bool {
                    ::core::matches!(self, Self::#variant(_))
                }

                fn release(self) -> ::core::result::Result<#ty, Self> {
                    match self {
                        Self::#variant(state) => ::core::result::Result::Ok(state),
                        other => ::core::result::Result::Err(other),
                    }
                }
            }
        }
    });
    Ok(quote! {
        #[automatically_derived]
        #lints
        impl #impl_generics #runtime::States for #name #ty_generics #where_clause {
            fn index(&self) -> usize {
                match *self { #(#indices)* }
            }
        }
        #(#each)*
    })
}

/// The state that a variant holds.
fn state<'a>(variant: &'a Variant, errors: &mut Errors) -> Option<(&'a Ident, &'a Type)> {
    if let Fields::Unnamed(fields) = &variant.fields
        && fields.unnamed.len() == 1
    {
        return Some((&variant.ident, &fields.unnamed.first()?.ty));
    }
    let name = &variant.ident;
    let message =
        format!("a state is a type of its own, which its variant holds: write `{name}({name})`");
    errors.push(variant, message);
    None
}

fn same(one: &Type, other: &Type) -> bool {
    one.to_token_stream().to_string() == other.to_token_stream().to_string()
}
