//! Actors that are equal but for one constant.

/// Declares a trait with one constant, and types that tell its values apart.
macro_rules! policies {
    ($(#[$doc:meta])* $trait:ident { $constant:ident: $type:ty } $($name:ident = $value:expr;)+) => {
        $(#[$doc])*
        pub(crate) trait $trait: Send + 'static {
            const $constant: $type;
        }
        $(
            pub(crate) struct $name;
            impl $trait for $name {
                const $constant: $type = $value;
            }
        )+
    };
}

pub(crate) use policies;
