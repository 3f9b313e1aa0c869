use greenroom::{Actor, Context, handlers};

#[derive(Actor)]
struct Book {
    is_open: bool,
}

#[handlers]
impl Book {
    #[tell]
    #[stash(while = !self.is_open)]
    fn read(&mut self) {}

    #[tell]
    fn open(&mut self, cx: &mut Context<Self>) {
        self.is_open = true;
        cx.unstash();
    }
}

fn main() {}
