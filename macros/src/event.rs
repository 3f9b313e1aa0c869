//! `#[derive(Event)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitInt, LitStr, Member};

use crate::errors::Errors;
use crate::{crate_path, lints, options, spans};

/// A variant, or the struct: what is stored under one name and version.
struct Form<'a> {
    /// `Self::Variant`, or `Self`.
    path: TokenStream,
    fields: &'a Fields,
    name: String,
    version: u32,
}

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "an event is read back from the journal and owns its parts: store `String` \
                       instead of `&str`";
        return Err(Error::new_spanned(&lifetime.lifetime, message));
    }
    let place = match &input.data {
        Data::Enum(_) => "the variant itself",
        Data::Struct(_) | Data::Union(_) => "the struct itself",
    };
    let mut errors = Errors::default();
    errors.take(options::none(options::on_fields(&input.data), "event", place));
    let forms = errors.take(forms(&input));
    let forms = errors.or(forms)?.unwrap_or_default();
    let name = &input.ident;
    let lints = lints::deprecated(lints::attributes(&input));
    let runtime = crate_path::private();
    let encode = forms.iter().map(|form| encode(form, &runtime));
    let decode = forms.iter().map(decode);
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        #lints
        impl #impl_generics #runtime::journal::Event for #name #ty_generics #where_clause {
            fn encode(&self) -> ::core::result::Result<
                #runtime::journal::Record,
                #runtime::journal::EncodeError,
            > {
                match self { #(#encode)* }
            }

            fn decode(record: &#runtime::journal::Record) -> ::core::result::Result<
                Self,
                #runtime::journal::DecodeError,
            > {
                #[allow(unused_mut, reason = "an event may have no fields")]
                let mut fields = #runtime::journal::Decoder::new(record);
                match (&*record.name, record.version) {
                    #(#decode)*
                    _ => ::core::result::Result::Err(#runtime::journal::DecodeError::Unknown),
                }
            }
        }
    })
}

fn forms(input: &DeriveInput) -> syn::Result<Vec<Form<'_>>> {
    match &input.data {
        Data::Struct(data) => {
            let (name, version) = stored_as(&input.attrs, &input.ident)?;
            Ok(vec![Form { path: quote!(Self), fields: &data.fields, name, version }])
        }
        Data::Enum(data) => {
            if let Some(attr) = options::only(&input.attrs, "event")? {
                let message = "each variant is an event with a name of its own: move this there";
                return Err(Error::new_spanned(attr, message));
            }
            if data.variants.is_empty() {
                let message = "nothing can happen: an event needs a variant at least";
                return Err(Error::new_spanned(&input.ident, message));
            }
            variants(data)
        }
        Data::Union(union) => {
            let message = "an event is a struct or an enum: wrap the union in a struct";
            Err(Error::new_spanned(union.union_token, message))
        }
    }
}

fn variants(data: &syn::DataEnum) -> syn::Result<Vec<Form<'_>>> {
    let mut errors = Errors::default();
    let mut forms: Vec<Form<'_>> = Vec::new();
    for variant in &data.variants {
        let ident = &variant.ident;
        let (name, version) = match stored_as(&variant.attrs, ident) {
            Ok(stored) => stored,
            Err(error) => {
                errors.add(error);
                continue;
            }
        };
        if forms.iter().any(|form| form.name == name && form.version == version) {
            let message = format!(
                "`{name}` version {version} is stored twice: give the newer one `version = {}`",
                version.saturating_add(1)
            );
            errors.push(ident, message);
        }
        forms.push(Form { path: quote!(Self::#ident), fields: &variant.fields, name, version });
    }
    errors.or(forms)
}

/// The name and the version that `#[event(..)]` gives, or else the defaults.
fn stored_as(attrs: &[Attribute], ident: &Ident) -> syn::Result<(String, u32)> {
    let (mut name, mut version) = (ident.unraw().to_string(), 1);
    let Some(attr) = options::only(attrs, "event")? else { return Ok((name, version)) };
    attr.parse_args_with(|input: ParseStream<'_>| {
        options::read(input, &["name", "version"], |option, input| {
            if option == "name" {
                name = stored_name(&input.parse()?)?;
            } else {
                version = input.parse::<LitInt>()?.base10_parse()?;
            }
            Ok(())
        })
    })?;
    Ok((name, version))
}

fn stored_name(text: &LitStr) -> syn::Result<String> {
    let name = text.value();
    if name.is_empty() || name.len() > usize::from(u16::MAX) {
        return Err(Error::new_spanned(text, "a stored name has 1 to 65,535 bytes"));
    }
    Ok(name)
}

fn encode(form: &Form<'_>, runtime: &TokenStream) -> TokenStream {
    let Form { path, fields, name, version } = form;
    let members = fields.members();
    let bound: Vec<_> = (0..fields.len()).map(|index| format_ident!("field{index}")).collect();
    let puts = bound.iter().zip(fields.iter()).map(|(bound, field)| {
        // Under the field's span, so that a type that does not serialise is an error at the field.
        let span = spans::located(field.ty.span());
        spans::relocate(quote!(fields.field(#bound)?;), span)
    });
    quote! {
        #path { #(#members: #bound,)* } => {
            #[allow(unused_mut, reason = "an event may have no fields")]
            let mut fields = #runtime::journal::Encoder::new(#name, #version);
            #(#puts)*
            ::core::result::Result::Ok(fields.finish())
        }
    }
}

fn decode(form: &Form<'_>) -> TokenStream {
    let Form { path, fields, name, version } = form;
    let members: Vec<Member> = fields.members().collect();
    let bound: Vec<_> = (0..fields.len()).map(|index| format_ident!("field{index}")).collect();
    let takes = bound.iter().zip(fields.iter()).map(|(bound, field)| {
        let ty = &field.ty;
        let span = spans::located(ty.span());
        let take = spans::relocate(quote!(fields.field), span);
        quote!(let #bound = #take::<#ty>()?;)
    });
    quote! {
        (#name, #version) => {
            #(#takes)*
            fields.finish()?;
            ::core::result::Result::Ok(#path { #(#members: #bound,)* })
        }
    }
}
