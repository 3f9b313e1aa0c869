#![allow(unused)]

#[greenroom::main]
async fn main(count: u64) {}
