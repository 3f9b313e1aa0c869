#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book;

#[handlers(wire = "acme.book")]
impl Book {}

#[derive(Actor)]
struct Zero;

#[handlers(wire = "acme.zero/0")]
impl Zero {}

#[derive(Actor)]
struct Signed;

#[handlers(wire = "acme.signed/+3")]
impl Signed {}

#[derive(Actor)]
struct Spaced;

#[handlers(wire = "my book/1")]
impl Spaced {}

#[derive(Actor)]
struct Many<T: Send + 'static>(T);

#[handlers(wire = "acme.many/1")]
impl<T: Send + 'static> Many<T> {}

#[derive(Actor)]
struct Alone;

#[handlers(codec = Postcard)]
impl Alone {}

fn main() {}
