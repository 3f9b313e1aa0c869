//! What the runtime reads: frames of nodes, messages by postcard, settings.

use greenroom::net::{Codec, Frame, Postcard, TEXT_BYTES_MAX};
use greenroom::{Config, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one node says to another: whatever is a frame is so in one form. [ENV-4]
pub fn node_frames(bytes: &[u8]) {
    let Ok(frame) = Frame::parse(bytes) else { return };
    if let Frame::Find { protocol, name, .. } = &frame {
        assert!(protocol.len() <= TEXT_BYTES_MAX && name.len() <= TEXT_BYTES_MAX);
    }
    if let Frame::Tells(messages) = frame {
        let lengths = messages.map(|message| message.arguments.len());
        assert!((1..bytes.len()).contains(&lengths.map(|length| length + 1).sum()), "{frame:?}");
    }
    assert_eq!(frame.to_bytes(), bytes, "{frame:?} has two forms");
}

/// Arguments of a message as users write them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Argument {
    Nothing,
    Number(u64),
    Text(String),
    Bytes(Vec<u8>),
    Row { name: Option<String>, cells: BTreeMap<u16, i64>, flags: (bool, char) },
    Many(Vec<Self>),
}

/// Arguments that came: what is read of them is written and read as the same, and takes no more memory than they
/// stand for.
pub fn messages(bytes: &[u8]) {
    // What lies in one another needs stack, which a frame's length must bound.
    let mut rest = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    while !rest.is_empty() {
        let before = rest.len();
        let Ok(read) = <Postcard as Codec<Argument>>::decode(&mut rest) else { return };
        assert!(rest.len() < before, "it reads nothing");
        let mut written = Vec::new();
        Postcard::encode(&read, &mut written).expect("what was read can be written");
        assert!(written.len() <= before - rest.len(), "it grows");
        let again = <Postcard as Codec<Argument>>::decode(&mut written.as_slice());
        assert_eq!(again, Ok(read));
    }
}

/// Settings of a system: refused with a text, or good for a builder, which refuses or takes them.
pub fn settings(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(config) = Config::from_toml(text) {
        drop(System::builder().config(&config));
    }
}
