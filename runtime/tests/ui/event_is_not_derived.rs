use greenroom::journal::EventSourced;
use serde::{Deserialize, Serialize};

enum Happened {}

#[derive(Default, Serialize, Deserialize)]
struct State;

impl EventSourced for State {
    type Event = Happened;

    fn apply(&mut self, _event: &Happened) {}
}

fn main() {}
