//! What messages own on the heap counts in a mailbox that is bounded by bytes, without a word of their authors.

use crate::support::{LONG, hold_worker, on};
use greenroom::{
    Actor, AskError, HeapBytes, Mailbox, Message, Options, Ref, Scheduler, TellError, handlers,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const ROOM: usize = 1000;

/// A type of a user who says what it owns.
struct Scan {
    pixels: Vec<u16>,
}

impl HeapBytes for Scan {
    fn heap_bytes(&self) -> usize {
        self.pixels.heap_bytes()
    }
}

/// A type of a user who says nothing.
struct Plain(u64);

struct Store;

impl Actor for Store {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::bounded(100).bytes(ROOM));
}

#[handlers]
impl Store {
    #[start]
    fn start() -> Self {
        Self
    }
    #[tell]
    fn text(&mut self, number: u32, text: String) {
        let _ = (number, text);
    }
    #[tell]
    fn bytes(&mut self, bytes: Option<Box<[u8]>>) {
        drop(bytes);
    }
    #[tell]
    fn lines(&mut self, lines: Vec<String>) {
        drop(lines);
    }
    #[tell]
    fn scan(&mut self, scan: Scan) {
        drop(scan.pixels);
    }
    #[tell]
    fn plain(&mut self, many: Vec<Plain>) {
        let _: u64 = many.into_iter().map(|plain| plain.0).sum();
    }
    #[tell]
    fn unknown(&mut self, shared: Arc<Vec<u8>>, map: BTreeMap<String, Vec<u8>>) {
        drop((shared, map));
    }
    #[ask]
    fn echo(&self, text: String) -> usize {
        text.len()
    }
}

/// Whether a mailbox of [`ROOM`] bytes takes a message.
fn fits<T>(sent: Result<(), TellError<T>>) -> bool {
    match sent {
        Ok(()) => true,
        Err(TellError::Full(message)) => {
            drop(message);
            false
        }
        Err(_) => panic!("the actor lives"),
    }
}

// [G-BOUND-1]
#[test]
fn what_messages_own_counts() {
    on(1, Scheduler::stealing(), async |system| {
        let store = system.spawn::<Store>(()).await.unwrap();
        let kilo = || "x".repeat(ROOM);
        assert!(!fits(store.text(1, kilo()).try_send()));
        assert!(!fits(store.bytes(Some(vec![0; ROOM].into())).try_send()));
        assert!(!fits(store.lines(vec![kilo()]).try_send()));
        assert!(!fits(store.scan(Scan { pixels: vec![0; ROOM / 2] }).try_send()));
        assert!(!fits(store.plain((0..ROOM as u64 / 8).map(Plain).collect()).try_send()));
        assert_eq!(store.echo(kilo()).within(LONG).await, Err(AskError::Refused));

        let shared = Arc::new(vec![0; ROOM]);
        assert!(fits(store.unknown(shared, BTreeMap::new()).try_send()), "others own it, too");
        assert!(fits(store.bytes(None).try_send()));
        assert_eq!(store.echo("x".to_owned()).within(LONG).await, Ok(1));
    });
}

#[test]
fn room_comes_back_when_they_are_handled() {
    on(1, Scheduler::stealing(), async |system| {
        let store: Ref<Store> = system.spawn::<Store>(()).await.unwrap();
        for _ in 0..10 {
            let held = hold_worker(system).await;
            assert!(fits(store.text(1, "x".repeat(ROOM / 2)).try_send()));
            assert!(!fits(store.text(2, "x".repeat(ROOM / 2)).try_send()));
            drop(held);
            assert_eq!(store.echo(String::new()).within(LONG).await, Ok(0));
        }
    });
}

/// One of each shape.
#[derive(Message)]
struct Unit;

#[derive(Message)]
struct Tuple(String, u8);

#[derive(Message)]
#[message(reply = u32)]
enum Choice<T: Send + 'static> {
    Text { text: String, number: u32 },
    Words(Vec<String>, Option<Box<str>>),
    Of(T),
    Nothing,
}

#[test]
fn derived_messages_add_up_their_parts() {
    let text = || String::from("twelve bytes");
    assert_eq!(Unit.heap_bytes(), 0);
    assert_eq!(Tuple(text(), 1).heap_bytes(), 12);
    assert_eq!(Choice::<u8>::Text { text: text(), number: 1 }.heap_bytes(), 12);
    let words = Choice::<u8>::Words(vec![text(), text()], Some(text().into()));
    assert_eq!(words.heap_bytes(), 2 * (size_of::<String>() + 12) + 12);
    assert_eq!(Choice::Of(text()).heap_bytes(), 0, "a parameter may be anything");
    assert_eq!(Choice::<u8>::Nothing.heap_bytes(), 0);
}

/// Parts to which nobody may have a reference.
#[derive(Message)]
#[repr(C, packed(2))]
struct Packed {
    tag: u8,
    number: u64,
}

#[derive(Message)]
#[repr(Rust, packed)]
struct PackedText(u8, String);

#[test]
fn packed_messages_count_for_their_size() {
    let Packed { tag, number } = Packed { tag: 1, number: 2 };
    assert_eq!(Packed { tag, number }.heap_bytes(), 0);
    let text = PackedText(tag, String::from("twelve bytes"));
    assert_eq!(text.heap_bytes(), 0);
    let PackedText(tag, owned) = text;
    assert_eq!((tag, owned.len()), (1, 12));
}

/// A message that is also a part of others.
#[derive(Message)]
struct Page {
    text: String,
}

impl HeapBytes for Page {
    fn heap_bytes(&self) -> usize {
        Message::heap_bytes(self)
    }
}

#[derive(Message)]
struct Book {
    page: Page,
    heap_bytes: String,
}

#[test]
fn a_message_may_be_a_part_of_another() {
    let page = Page { text: String::from("twelve bytes") };
    assert_eq!(HeapBytes::heap_bytes(&page), 12);
    assert_eq!(Book { page, heap_bytes: String::from("four") }.heap_bytes(), 16);
}
