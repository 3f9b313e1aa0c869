//! What the parser hands to the generators.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Generics, Ident, Pat, Type};

use super::attributes::Manner;
use super::names::Names;
use super::types;
use crate::spans;

/// A checked `#[handlers]` block. Wherever a type is to be repeated outside of the impl, `Self` has
/// been replaced by the type it stands for.
pub(crate) struct Block {
    pub(crate) actor: Type,
    pub(crate) generics: Generics,
    pub(crate) names: Names,
    /// The field of the actor that holds its state.
    pub(crate) state: Option<Ident>,
    pub(crate) handlers: Vec<Handler>,
    /// The lints that are allowed on all of them.
    pub(crate) lints: Vec<Attribute>,
    pub(crate) start: Option<Method>,
    pub(crate) stop: Option<Method>,
    /// Which items of the impl are `async` methods with a role.
    pub(crate) waiting: Vec<usize>,
}

/// A `#[tell]` or `#[ask]` method.
pub(crate) struct Handler {
    pub(crate) kind: Kind,
    pub(crate) method: Method,
    pub(crate) variant: Ident,
    pub(crate) fields: Vec<Field>,
    pub(crate) manner: Manner,
    /// `#[cfg]`s: they go wherever the handler is named.
    pub(crate) cfgs: Vec<Attribute>,
    /// Documentation and deprecation: they go on the caller method.
    pub(crate) docs: Vec<Attribute>,
    /// The lints that are allowed on it: they go wherever its arguments do.
    pub(crate) lints: Vec<Attribute>,
}

pub(crate) enum Kind {
    Tell,
    Ask {
        /// The field of the message that holds the reply.
        reply: Ident,
        /// Whether an asker that goes cancels the handler.
        cancel: bool,
        /// Whether the handler is given the reply, and returns nothing.
        gives: bool,
    },
}

/// An argument of a handler, as a part of its message.
pub(crate) struct Field {
    /// Generated, so that no lint is about it again.
    pub(crate) name: Ident,
    /// As the user has it, for what the user wrote about it.
    pub(crate) written: Ident,
    pub(crate) ty: TokenStream,
}

/// A method as it is called by generated code.
pub(crate) struct Method {
    pub(crate) name: Ident,
    pub(crate) receiver: Receiver,
    pub(crate) is_async: bool,
    pub(crate) params: Vec<Param>,
    pub(crate) output: Option<Type>,
    /// Whether there is an error about it, so that nothing calls it.
    pub(crate) is_wrong: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// No `self` at all.
    Missing,
    /// `&self`
    Shared,
    /// `&mut self`
    Exclusive,
}

pub(crate) enum Param {
    /// `&mut Context<Self>`, found by its type.
    Context(Type),
    /// `&mut Interleaved<Self>`, found by its type.
    Interleaved(Type),
    /// The `Reply<..>` of an asked handler, found by its type.
    Reply(Type),
    /// The state of the actor, marked by `#[state]`: lent or given.
    State(Type, bool),
    /// Anything else: an argument that comes from outside.
    Value { pattern: Pat, ty: Type },
}

impl Block {
    /// Returns the name of the actor, without its parameters, for documentation.
    pub(crate) fn name(&self) -> String {
        let Type::Path(path) = &self.actor else { return String::new() };
        path.path.segments.last().map(|last| last.ident.unraw().to_string()).unwrap_or_default()
    }

    /// Returns the path of the actor as it is written, without its parameters, for links in documentation.
    pub(crate) fn path(&self) -> String {
        let Type::Path(path) = &self.actor else { return String::new() };
        let names = path.path.segments.iter().map(|segment| segment.ident.unraw().to_string());
        let start = path.path.leading_colon.map_or("", |_| "::");
        format!("{start}{}", names.collect::<Vec<_>>().join("::"))
    }

    /// Returns whether the actor has no parameters, so that the size of each type is known.
    pub(crate) fn is_plain(&self) -> bool {
        self.generics.params.is_empty()
    }

    /// Returns a type that uses every type parameter and holds none, where there are any: a
    /// parameter may appear in no handler, and rustc wants each to be used.
    pub(crate) fn phantom(&self) -> Option<TokenStream> {
        let params: Vec<_> = self.generics.type_params().map(|param| &param.ident).collect();
        let phantom = quote!(::core::marker::PhantomData<fn() -> (#(*const #params,)*)>);
        (!params.is_empty()).then_some(phantom)
    }

    /// Returns the type that an asked handler answers with.
    pub(crate) fn answer(&self, handler: &Handler) -> TokenStream {
        match &handler.method.output {
            Some(output) => types::without_self(output, &self.actor),
            None => quote!(()),
        }
    }
}

impl Method {
    /// Returns the arguments that come from outside, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&Pat, &Type)> {
        self.params.iter().filter_map(|param| match param {
            Param::Value { pattern, ty } => Some((pattern, ty)),
            Param::Context(_) | Param::Interleaved(_) | Param::Reply(_) | Param::State(..) => None,
        })
    }

    /// Returns the names under which [`call`](Self::call) finds the arguments from outside.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = Ident> {
        self.values().enumerate().map(|(index, _)| format_ident!("arg{index}"))
    }

    /// Writes the call, with `self` and `cx` as the caller has them.
    ///
    /// The method is named through `Self`, not called on `self`, so that it is found before the
    /// trait methods of the same name. Each argument is located at its type, the rest at the return
    /// type: those are the places to change when rustc finds a mistake.
    pub(crate) fn call(&self, runtime: &TokenStream) -> TokenStream {
        let name = &self.name;
        let mut bindings = self.bindings();
        let receiver = match self.receiver {
            Receiver::Missing => None,
            Receiver::Shared => Some(quote!(&*self,)),
            Receiver::Exclusive => Some(quote!(self,)),
        };
        let arguments = self.params.iter().map(|param| match param {
            Param::Context(ty) | Param::Interleaved(ty) => {
                quote_spanned!(spans::located(ty.span())=> cx)
            }
            Param::Reply(ty) => quote_spanned!(spans::located(ty.span())=> reply),
            Param::State(ty, leaves) => {
                let span = spans::located(ty.span());
                if *leaves {
                    quote_spanned!(span=> state)
                } else {
                    quote_spanned!(span=> &mut state)
                }
            }
            Param::Value { ty, .. } => {
                let mut binding = bindings.next();
                binding.iter_mut().for_each(|name| name.set_span(spans::located(ty.span())));
                quote!(#binding)
            }
        });
        let span = self.span();
        let call = quote_spanned!(span=> Self::#name(#receiver #(#arguments),*));
        if self.is_async {
            let portable = spans::relocate(quote!(#runtime::portable), span);
            quote_spanned!(span=> #portable(#call).await)
        } else {
            call
        }
    }

    /// Returns where a mistake in what the method returns is to be shown.
    pub(crate) fn span(&self) -> Span {
        spans::located(self.output.as_ref().map_or_else(|| self.name.span(), Spanned::span))
    }
}

impl Method {
    /// Hands what the method returned to a function of the runtime, at the place where a mistake in
    /// it is to be shown.
    pub(crate) fn pass(&self, function: TokenStream, arguments: &TokenStream) -> TokenStream {
        let span = self.span();
        let function = spans::relocate(function, span);
        quote_spanned!(span=> #function(#arguments))
    }
}

impl Handler {
    /// Takes the parts of the message out, under the names that [`Method::call`] expects.
    pub(crate) fn bound_fields(&self) -> TokenStream {
        let names = self.fields.iter().map(|field| &field.name);
        let bindings = self.method.bindings();
        quote!(#(#names: #bindings,)*)
    }

    /// Says whether the handler has the actor to itself while it waits.
    pub(crate) fn holds_and_waits(&self) -> bool {
        self.method.is_async && !self.is_interleaved()
    }

    /// Says whether the handler lets others in while it waits.
    pub(crate) fn is_interleaved(&self) -> bool {
        self.manner.interleave.is_some()
    }

    /// Returns the name of the method as text, for events.
    pub(crate) fn text(&self) -> String {
        self.method.name.unraw().to_string()
    }
}
