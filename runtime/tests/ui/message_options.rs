#![allow(unused)]

use greenroom::Message;

#[derive(Message)]
#[message(answer = u64)]
struct UnknownOption;

#[derive(Message)]
struct Borrows<'a>(&'a str);

#[derive(Message)]
struct NotSend(std::rc::Rc<u64>);

#[derive(Message)]
#[message(reply = std::rc::Rc<u64>)]
struct ReplyNotSend;

fn main() {}
