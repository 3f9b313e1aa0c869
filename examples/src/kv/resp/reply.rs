//! Writes replies, in the shape of the protocol version the client asked for.

use super::push_integer;

/// The protocol version of a connection: RESP2 until `HELLO 3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Proto {
    /// The protocol every client speaks.
    #[default]
    Resp2,
    /// Maps, sets, nulls, doubles and pushes of their own.
    Resp3,
}

/// Appends replies to a buffer.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    out: &'a mut Vec<u8>,
    proto: Proto,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, proto: Proto) -> Self {
        Reply { out, proto }
    }

    pub(crate) fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// Writes a simple string; it must not hold a line break.
    pub(crate) fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// Writes an error; a text without a code of its own must be given with its `ERR`.
    pub(crate) fn error(&mut self, text: impl AsRef<[u8]>) {
        self.error_bytes(text.as_ref());
    }

    /// Writes an error that repeats bytes from the client: line breaks become blanks, as in Redis.
    pub(crate) fn error_bytes(&mut self, text: &[u8]) {
        self.out.push(b'-');
        let clean =
            text.iter().map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte });
        self.out.extend(clean);
        self.out.extend_from_slice(b"\r\n");
    }

    pub(crate) fn integer(&mut self, value: i64) {
        self.header(b':', value);
    }

    /// Writes a count.
    pub(crate) fn count(&mut self, value: usize) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    pub(crate) fn bulk(&mut self, bytes: &[u8]) {
        self.out.reserve(bytes.len() + 24);
        self.sized(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Writes an integer as a bulk string.
    pub(crate) fn bulk_integer(&mut self, value: i64) {
        let mut digits = itoa::Buffer::new();
        self.bulk(digits.format(value).as_bytes());
    }

    /// Writes text for people: a verbatim string in RESP3.
    pub(crate) fn verbatim(&mut self, text: &[u8]) {
        match self.proto {
            Proto::Resp2 => self.bulk(text),
            Proto::Resp3 => {
                self.sized(b'=', text.len() + 4);
                self.out.extend_from_slice(b"txt:");
                self.out.extend_from_slice(text);
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    pub(crate) fn null(&mut self) {
        self.out.extend_from_slice(match self.proto {
            Proto::Resp2 => b"$-1\r\n",
            Proto::Resp3 => b"_\r\n",
        });
    }

    /// Writes the null that stands where an array was expected.
    pub(crate) fn null_array(&mut self) {
        self.out.extend_from_slice(match self.proto {
            Proto::Resp2 => b"*-1\r\n",
            Proto::Resp3 => b"_\r\n",
        });
    }

    pub(crate) fn array(&mut self, len: usize) {
        self.sized(b'*', len);
    }

    /// Opens a map of `len` pairs.
    pub(crate) fn map(&mut self, len: usize) {
        match self.proto {
            Proto::Resp2 => self.sized(b'*', len * 2),
            Proto::Resp3 => self.sized(b'%', len),
        }
    }

    pub(crate) fn set(&mut self, len: usize) {
        self.sized(if self.proto == Proto::Resp3 { b'~' } else { b'*' }, len);
    }

    /// Opens a message that answers no request.
    pub(crate) fn push(&mut self, len: usize) {
        self.sized(if self.proto == Proto::Resp3 { b'>' } else { b'*' }, len);
    }

    /// Appends bytes that are a reply already.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn sized(&mut self, tag: u8, len: usize) {
        self.header(tag, i64::try_from(len).unwrap_or(i64::MAX));
    }

    fn header(&mut self, tag: u8, value: i64) {
        if let Ok(digit @ 0..=9) = u8::try_from(value) {
            return self.out.extend_from_slice(&[tag, b'0' + digit, b'\r', b'\n']);
        }
        self.out.push(tag);
        push_integer(self.out, value);
        self.out.extend_from_slice(b"\r\n");
    }

    fn line(&mut self, tag: u8, text: &[u8]) {
        self.out.push(tag);
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }
}
