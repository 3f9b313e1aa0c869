#![allow(unused)]

mod not_async {
    #[greenroom::main]
    fn main() {}
}

mod options {
    #[greenroom::main(workers = 4)]
    async fn main() {}
}

mod arguments {
    #[greenroom::main]
    async fn main(system: System, count: u64) {}
}

mod borrows {
    #[greenroom::test]
    async fn borrows(system: &System) {}
}

mod generic {
    #[greenroom::test]
    async fn generic<T>() {}
}

fn main() {}
