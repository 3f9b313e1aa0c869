use greenroom::{Actor, Interleaved, handlers};

#[derive(Actor)]
#[actor(interleave = 16)]
struct Book {
    names: Vec<String>,
}

#[handlers]
impl Book {
    #[ask]
    #[interleave]
    async fn first(cx: &mut Interleaved<Self>) -> usize {
        let names = cx.with(|me, _| &me.names);
        std::future::ready(()).await;
        names.len()
    }
}

fn main() {}
