use greenroom::{Actor, Context, handlers};

struct Socket;

#[derive(Actor)]
struct Child;

#[handlers]
impl Child {
    #[start]
    fn start(socket: Socket) -> Self {
        let Socket = socket;
        Self
    }
}

#[derive(Actor)]
#[actor(supervise = one_for_one(1 in "1s"))]
struct Parent;

#[handlers]
impl Parent {
    #[tell]
    fn hire(&mut self, cx: &mut Context<Self>) {
        let _ = cx.supervise::<Child>(Socket).start();
    }
}

fn main() {}
