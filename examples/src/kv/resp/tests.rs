//! Requests against a crate that knows the protocol, and against Redis's own rules.

use bytes::Bytes;
use proptest::prelude::*;
use resp_rs::resp2::{Frame, parse_frame};

use super::{Proto, ProtocolError, Reply, Request, Requests, parse_integer};

/// Feeds `bytes` in pieces of `step`; returns the commands and how it ended.
fn read(bytes: &[u8], step: usize) -> (Vec<Vec<Vec<u8>>>, Result<Request, ProtocolError>) {
    let (mut requests, mut spans, mut buffer) = (Requests::default(), Vec::new(), Vec::new());
    let mut commands = Vec::new();
    let mut end = Ok(Request::Partial);
    for piece in bytes.chunks(step) {
        buffer.extend_from_slice(piece);
        loop {
            match requests.next(&mut buffer, &mut spans) {
                Ok(Request::Complete) => {
                    commands.push(spans.drain(..).map(|span| span.of(&buffer).to_vec()).collect());
                }
                Ok(Request::Partial) => break,
                Err(error) => {
                    end = Err(error);
                    return (commands, end);
                }
            }
        }
    }
    (commands, end)
}

fn encode(command: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, Proto::Resp2);
    reply.array(command.len());
    command.iter().for_each(|word| reply.bulk(word));
    out
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

proptest! {
    #[test]
    fn agrees_with_resp_rs(
        commands in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..12), 1..6),
        step in 1usize..50,
    ) {
        let wire: Vec<u8> = commands.iter().flat_map(|command| encode(command)).collect();
        let mut rest = Bytes::from(wire.clone());
        let mut theirs = Vec::new();
        while !rest.is_empty() {
            let (frame, after) = parse_frame(rest).expect("a whole command");
            let Frame::Array(Some(items)) = frame else { panic!("an array") };
            theirs.push(items.iter().map(|item| item.as_bytes().expect("a bulk string").to_vec()).collect::<Vec<_>>());
            rest = after;
        }
        let (ours, end) = read(&wire, step);
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(ours, commands);
        prop_assert_eq!(end, Ok(Request::Partial));
    }

    #[test]
    fn never_panics_and_never_depends_on_the_pieces(
        bytes in prop::collection::vec(prop::sample::select(b"*$123\r\n\"'\\x ab-\0".to_vec()), 0..200),
        step in 1usize..50,
    ) {
        prop_assert_eq!(read(&bytes, step), read(&bytes, bytes.len().max(1)));
    }

    #[test]
    fn integers_survive(value: i64) {
        prop_assert_eq!(parse_integer(value.to_string().as_bytes()), Some(value));
    }
}

#[test]
fn refuses_what_redis_refuses() {
    let long = |tag: &str| [tag.as_bytes(), &[b'1'; 70_000]].concat();
    let cases: [(Vec<u8>, ProtocolError, &str); 9] = [
        (b"*x\r\n".to_vec(), ProtocolError::BadCount, "invalid multibulk length"),
        (b"*2147483648\r\n".to_vec(), ProtocolError::BadCount, "invalid multibulk length"),
        (b"*1\r\n:3\r\n".to_vec(), ProtocolError::NotBulk(b':'), "expected '$', got ':'"),
        (b"*1\r\n$-1\r\n".to_vec(), ProtocolError::BadLength, "invalid bulk length"),
        (b"*1\r\n$536870913\r\n".to_vec(), ProtocolError::BadLength, "invalid bulk length"),
        (long("*"), ProtocolError::LongCount, "too big mbulk count string"),
        (long("*1\r\n$"), ProtocolError::LongLength, "too big bulk count string"),
        (long(""), ProtocolError::LongInline, "too big inline request"),
        (b"get \"a\r\n".to_vec(), ProtocolError::Unbalanced, "unbalanced quotes in request"),
    ];
    for (bytes, error, text) in cases {
        let (commands, end) = read(&bytes, 4096);
        assert_eq!((commands.len(), end), (0, Err(error)));
        assert_eq!(error.text(), format!("ERR Protocol error: {text}").into_bytes());
    }
}

#[test]
fn takes_more_than_a_million_words() {
    let count = 1_048_577;
    let wire = [format!("*{count}\r\n").as_bytes(), &b"$1\r\nx\r\n".repeat(count)].concat();
    let (commands, end) = read(&wire, 1 << 16);
    assert_eq!((commands[0].len(), end), (count, Ok(Request::Partial)));
    // What is only announced takes no memory.
    let (mut requests, mut spans) = (Requests::default(), Vec::new());
    let end = requests.next(&mut b"*2147483647\r\n".to_vec(), &mut spans);
    assert_eq!((end, spans.capacity()), (Ok(Request::Partial), 0));
}

#[test]
fn reads_typed_lines_as_redis_does() {
    let (commands, _) = read(b"PING\r\n\r\n set  a \"b \\x41\\n\" 'c\\'d'\nget ''\n", 3);
    assert_eq!(
        commands,
        [words(&["PING"]), words(&["set", "a", "b A\n", "c'd"]), words(&["get", ""])]
    );
}

#[test]
fn typed_lines_end_at_a_nul() {
    let (commands, end) = read(b"PING\0 x\r\n\0 a\r\nECHO b\0\r\n", 4);
    assert_eq!(commands, [words(&["PING"]), words(&["ECHO", "b"])]);
    assert_eq!(end, Ok(Request::Partial));
    assert_eq!(read(b"ECHO \"a\0b\"\r\n", 100).1, Err(ProtocolError::Unbalanced));
}

#[test]
fn takes_empty_commands_for_nothing() {
    let (commands, end) = read(b"*0\r\n*-5\r\n*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", 1);
    assert_eq!((commands, end), (vec![words(&["PING"]), words(&["PING"])], Ok(Request::Partial)));
}

#[test]
fn integers_are_read_strictly() {
    for text in [
        "",
        "-",
        "+1",
        "01",
        "-0",
        " 1",
        "1 ",
        "9223372036854775808",
        "-9223372036854775809",
        "1.0",
    ] {
        assert_eq!(parse_integer(text.as_bytes()), None, "{text:?}");
    }
    assert_eq!(parse_integer(b"-9223372036854775808"), Some(i64::MIN));
    assert_eq!(parse_integer(b"0"), Some(0));
}

#[test]
fn errors_hold_no_line_break() {
    let mut out = Vec::new();
    Reply::new(&mut out, Proto::Resp2).error_bytes(b"ERR a\r\nb");
    assert_eq!(out, b"-ERR a  b\r\n");
}

#[test]
fn protocol_versions_differ_where_they_must() {
    let write = |proto| {
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, proto);
        reply.map(1);
        reply.set(1);
        reply.push(1);
        reply.null();
        reply.null_array();
        reply.verbatim(b"x");
        String::from_utf8(out).expect("text")
    };
    assert_eq!(write(Proto::Resp2), "*2\r\n*1\r\n*1\r\n$-1\r\n*-1\r\n$1\r\nx\r\n");
    assert_eq!(write(Proto::Resp3), "%1\r\n~1\r\n>1\r\n_\r\n_\r\n=5\r\ntxt:x\r\n");
}
