use greenroom::{Actor, Context, handlers};

#[derive(Actor)]
struct Child;

#[handlers]
impl Child {
    #[start]
    fn start() -> Self {
        Self
    }
}

#[derive(Actor)]
struct Parent;

#[handlers]
impl Parent {
    #[tell]
    fn hire(&mut self, cx: &mut Context<Self>) {
        let _ = cx.supervise::<Child>(()).start();
    }
}

fn main() {}
