use greenroom::net::Manifest;
use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book;

#[handlers]
impl Book {}

fn main() {
    let _ = Manifest::of::<Book>();
}
