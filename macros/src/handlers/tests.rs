use proc_macro2::TokenStream;
use quote::quote;

use super::{expand, names, types};

fn expansion(item: TokenStream) -> String {
    expand(TokenStream::new(), item).expect("it is an impl").to_string()
}

/// Returns how often `tokens` occur.
fn count(expansion: &str, tokens: &TokenStream) -> usize {
    expansion.matches(&tokens.to_string()).count()
}

#[test]
fn callers_say_what_the_handler_says() {
    let expansion = expansion(quote! {
        impl Book {
            /// The best price.
            #[deprecated]
            #[inline]
            #[ask]
            fn best(&self) -> u64 { self.best }

            #[doc(alias = "bid")]
            #[tell]
            fn quote(&mut self, price: u64) {}
        }
    });
    assert_eq!(count(&expansion, &quote!(#[doc = r" The best price."])), 2);
    assert_eq!(count(&expansion, &quote!(#[deprecated])), 2);
    assert_eq!(count(&expansion, &quote!(#[inline])), 1);
    let doc = "Tells `Book::quote`, and does not wait until it is handled.";
    assert_eq!(count(&expansion, &quote!(#[doc = #doc])), 1);
}

#[test]
fn what_a_handler_links_to_is_there_for_its_callers() {
    let expansion = expansion(quote! {
        impl Book {
            /// Unlike [`Self::look`] and [that](Self::look), as [`Self::best`]; `Self::look`.
            #[ask]
            fn best(&self) -> u64 { self.best }
            fn look(&self) {}
        }
    });
    let said = " Unlike [`Book::look`] and [that](Book::look), as [`Self::best`]; `Self::look`.";
    assert_eq!(count(&expansion, &quote!(#[doc = #said])), 1, "{expansion}");
}

#[test]
fn links_are_found_in_all_their_forms() {
    let expansion = expansion(quote! {
        impl shop::Book<u8> {
            /// [`fn@Self::look`], [method@Self::look], [one](fn@Self::look), [two](<Self::look>), not fn@Self::look.
            ///
            /// [one]: Self::look
            /// [two]: fn@Self::best
            #[ask]
            fn best(&self) -> u64 { self.best }
            fn look(&self) {}
        }
    });
    let said = [
        " [`fn@shop::Book::look`], [method@shop::Book::look], [one](fn@shop::Book::look), [two](<shop::Book::look>), \
         not fn@Self::look.",
        " [one]: shop::Book::look",
        " [two]: fn@Self::best",
    ];
    for said in said {
        assert_eq!(count(&expansion, &quote!(#[doc = #said])), 1, "{expansion}");
    }
    // Rustdoc tells of a link that goes nowhere.
    assert_eq!(count(&expansion, &quote!(rustdoc::broken_intra_doc_links)), 0);
}

#[test]
fn conditions_go_wherever_the_handler_is_named() {
    let expansion = expansion(quote! {
        impl Book {
            #[cfg(unix)]
            #[ask]
            async fn best(&mut self, count: usize) -> u64 { self.best }
        }
    });
    // The method, the variant, its name, its size, the checks of its parts and of its answer's size, the caller and
    // the call.
    assert_eq!(count(&expansion, &quote!(#[cfg(unix)])), 8);
}

#[test]
fn conditions_that_a_condition_adds_go_there_too() {
    let expansion = expansion(quote! {
        impl Book {
            #[cfg_attr(true, inline, cfg(unix), cfg_attr(feature = "fast", cold, cfg(windows)))]
            #[ask]
            async fn best(&mut self, count: usize) -> u64 { self.best }
        }
    });
    let carried = quote!(#[cfg_attr(true, cfg(unix), cfg_attr(feature = "fast", cfg(windows)))]);
    // The method has it as it is written.
    assert_eq!(count(&expansion, &carried), 7);
}

#[test]
fn what_a_condition_adds_is_said_and_allowed_for_callers_too() {
    let expansion = expansion(quote! {
        impl Book {
            #[cfg_attr(docsrs, doc(cfg(unix)), inline)]
            #[cfg_attr(docsrs, expect(unused), inline)]
            #[tell]
            fn quote(&mut self, price: u64) {}
        }
    });
    assert_eq!(count(&expansion, &quote!(#[cfg_attr(docsrs, doc(cfg(unix)))])), 1);
    // The caller and the variant.
    assert_eq!(count(&expansion, &quote!(#[cfg_attr(docsrs, allow(unused))])), 2);
}

#[test]
fn plain_handlers_build_no_future() {
    let plain = expansion(quote! { impl Book { #[tell] fn quote(&mut self) {} } });
    assert_eq!(count(&plain, &quote!(async)), 0);
    let both = expansion(quote! {
        impl Book {
            #[tell] fn quote(&mut self) {}
            #[tell] async fn first(&mut self) {}
            #[tell] async fn second(&mut self) {}
        }
    });
    assert_eq!(count(&both, &quote!(async move)), 1);
}

#[test]
fn methods_outlive_an_error() {
    let expansion = expansion(quote! {
        impl Book {
            #[tell] fn quote(&mut self) {}
            #[tell] fn stop(&mut self) {}
        }
    });
    assert_eq!(
        count(
            &expansion,
            &quote!(
                fn quote(&mut self) {}
            )
        ),
        1
    );
    assert_eq!(count(&expansion, &quote!(#[tell])), 0);
    assert_eq!(count(&expansion, &quote!(::core::compile_error!)), 1);
}

#[test]
fn an_impl_that_cannot_be_read_has_one_error() {
    let expansion = expansion(quote! {
        impl<'a> Line<'a> {
            #[ask(cancel)]
            #[stash]
            #[cfg_attr(all(), interleave)]
            fn dial(&mut self, #[state] idle: &mut Idle) {}
        }
    });
    assert_eq!(count(&expansion, &quote!(::core::compile_error!)), 1, "{expansion}");
    assert_eq!(
        count(
            &expansion,
            &quote!(
                fn dial(&mut self, idle: &mut Idle) {}
            )
        ),
        1
    );
    assert!(!expansion.contains('#'), "{expansion}");
}

#[test]
fn variants_are_named_after_methods() {
    let variant =
        |method: TokenStream| names::variant(&syn::parse2(method).expect("a name")).to_string();
    assert_eq!(variant(quote!(best)), "Best");
    assert_eq!(variant(quote!(best_bid_2)), "BestBid2");
    assert_eq!(variant(quote!(_best)), "Best");
    assert_eq!(variant(quote!(r#type)), "Type");
    assert_eq!(variant(quote!(self_)), "Self_");
    assert_eq!(variant(quote!(_1)), "Handler1");
}

#[test]
fn replies_have_a_name_of_their_own() {
    let arguments: Vec<syn::Ident> =
        ["reply", "reply_"].map(|name| quote::format_ident!("{name}")).into();
    assert_eq!(names::reply(&arguments), "reply__");
    assert_eq!(names::reply(&[quote::format_ident!("r#reply")]), "reply_");
}

#[test]
fn self_is_spelled_out() {
    let actor = syn::parse_quote!(Cache<T>);
    let spelled =
        |tokens: TokenStream| types::without_self(tokens, &actor).to_string().replace(' ', "");
    assert_eq!(spelled(quote!(Option<Self>)), "Option<Cache<T>>");
    assert_eq!(spelled(quote!(Self::Key)), "<Cache<T>>::Key");
    assert_eq!(spelled(quote!([Self: Sized])), "[Cache<T>:Sized]");
}

#[test]
fn methods_that_come_back_to_themselves_say_send() {
    let expansion = expansion(quote! {
        impl Book {
            /// Asks somebody.
            #[expect(clippy::unused_async)]
            #[local]
            pub async fn poll(&mut self, cx: &mut Context<Self>) { join!(self.question(cx)); }
            #[cfg(unix)]
            #[ask]
            async fn question(&mut self, cx: &mut Context<Self>) -> u64 { cx.after(SOON, Self::poll); 4 }
            // Nothing that it names leads back to it: that is a field.
            #[local]
            async fn look(&mut self, cx: &mut Context<Self>) { self.look += 1; cx.after(SOON, Self::poll); }
            // Is known before its body is.
            #[local]
            fn tick(&mut self, cx: &mut Context<Self>) { cx.after(SOON, Self::tick); }
        }
    });
    let said = quote! {
        pub fn poll(&mut self, arg1: &mut Context<Self>)
            -> impl ::core::future::Future<Output = ()> + ::core::marker::Send
        {
            Self::__poll(self, arg1)
        }
    };
    assert_eq!(count(&expansion, &said), 1, "{expansion}");
    assert_eq!(count(&expansion, &quote!(async fn __poll(&mut self, cx: &mut Context<Self>))), 1);
    assert_eq!(count(&expansion, &quote!(async fn __question)), 1);
    assert_eq!(count(&expansion, &quote!(Self::__question(self, arg1))), 1);
    assert_eq!(expansion.matches("__look").count() + expansion.matches("__tick").count(), 0);
    assert_eq!(count(&expansion, &quote!(#[allow(clippy::unused_async)])), 2);
    assert_eq!(count(&expansion, &quote!(#[doc = r" Asks somebody."])), 1);
}

#[test]
fn methods_that_come_back_by_way_of_a_plain_function_say_send() {
    let expansion = expansion(quote! {
        impl Book {
            #[local]
            async fn poll(mut self: &mut Self, cx: &mut Context<Self>) { cx.pipe(self.later(), Self::end); }
            fn later(&self) -> impl Future<Output = u8> { let _ = Self::poll; ready(4) }
            fn now(&self) -> u8 { let _ = Self::end; 4 }
            #[local]
            async fn end(&mut self, count: u8) { self.now(); }
        }
    });
    assert_eq!(count(&expansion, &quote!(fn poll(self: &mut Self, arg1: &mut Context<Self>))), 1);
    assert_eq!(expansion.matches("__end").count(), 0, "{expansion}");
}
