//! What `spawn` takes has to be visible as far as the actor is.

#![allow(unused)]

mod one {
    use greenroom::{Actor, handlers};

    struct Config;

    #[derive(Actor)]
    pub(crate) struct Book;

    #[handlers]
    impl Book {
        #[start]
        fn start(config: Config) -> Self {
            Book
        }
    }
}

mod several {
    use greenroom::{Actor, handlers};

    struct Config;

    #[derive(Actor)]
    pub struct Book;

    #[handlers]
    impl Book {
        #[start]
        fn start(name: String, config: Config) -> Self {
            Book
        }
    }
}

fn main() {}
