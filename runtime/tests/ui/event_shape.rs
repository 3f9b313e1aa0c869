use greenroom::journal::Event;

#[derive(Event)]
enum Nothing {}

#[derive(Event)]
struct Borrowed<'a> {
    text: &'a str,
}

#[derive(Event)]
union Both {
    number: u32,
    bytes: [u8; 4],
}

fn main() {}
