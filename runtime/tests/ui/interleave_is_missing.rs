use greenroom::{Actor, Interleaved, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[ask]
    #[interleave]
    async fn best(cx: &mut Interleaved<Self>) -> u64 {
        cx.with(|me, _| me.best)
    }
}

fn main() {}
