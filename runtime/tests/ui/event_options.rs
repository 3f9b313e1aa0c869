use greenroom::journal::Event;

#[derive(Event)]
enum Unknown {
    #[event(label = "opened")]
    Opened,
}

#[derive(Event)]
enum Twice {
    #[event(version = 1, version = 2)]
    Opened,
    #[event(name = "")]
    Closed,
    #[event(version = "two")]
    Moved,
}

#[derive(Event)]
#[event(name = "happened")]
enum Whole {
    Opened,
}

#[derive(Event)]
enum Same {
    #[event(name = "opened")]
    Opened,
    #[event(name = "opened", version = 1)]
    OpenedAgain { by: String },
}

fn main() {}
