//! Finds the commands in a read buffer.
//!
//! Invariants:
//!
//! 1. Every byte is looked at a bounded number of times, however slowly it arrives: between two reads [`Requests`]
//!    remembers the arguments found so far and how many bytes the next step needs.
//! 2. Nothing is allocated for what a client only announces; the limits of Redis hold before any byte is stored.
//! 3. The error texts are Redis's own. After an error the connection must be closed: the stream has lost its frame.

use super::{inline, parse_integer};

/// Longest bulk string, `proto-max-bulk-len`.
const BULK_BYTES_MAX: i64 = 512 * 1024 * 1024;
/// Most arguments of one command; what they take up is bounded by the size of the read buffer.
const ARGUMENTS_MAX: i64 = i32::MAX as i64;
/// Longest inline command and longest header line.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Where an argument lies in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The buffer never passes 1 GiB, so 32 bits hold every position.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        let narrow = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        Self { start: narrow(start), end: narrow(end) }
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    /// Returns the span from this one's start to the end of `last`.
    pub(crate) fn until(self, last: Self) -> Self {
        Self { start: self.start, end: last.end }
    }

    /// Returns where the same bytes lie after a move.
    pub(crate) fn moved(self, by: Move) -> Self {
        let place = |position: u32| position as usize - by.from + by.to;
        Self::new(place(self.start), place(self.end))
    }

    /// Returns the bytes, or nothing if the span does not belong to `buffer`.
    pub(crate) fn of(self, buffer: &[u8]) -> &[u8] {
        buffer.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Bytes at `from` in one buffer come to lie at `to` in another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// What a client did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolError {
    /// A count line without an end.
    LongCount,
    /// Not a count of arguments.
    BadCount,
    /// A length line without an end.
    LongLength,
    /// Not the length of a bulk string.
    BadLength,
    /// An argument that is not a bulk string.
    NotBulk(u8),
    /// A line without an end.
    LongInline,
    /// An inline command with an open quote.
    Unbalanced,
}

impl ProtocolError {
    /// Returns Redis's text for it.
    pub(crate) fn text(self) -> Vec<u8> {
        let text: &[u8] = match self {
            Self::LongCount => b"too big mbulk count string",
            Self::BadCount => b"invalid multibulk length",
            Self::LongLength => b"too big bulk count string",
            Self::BadLength => b"invalid bulk length",
            Self::NotBulk(_) => b"expected '$', got '",
            Self::LongInline => b"too big inline request",
            Self::Unbalanced => b"unbalanced quotes in request",
        };
        let mut line = [b"ERR Protocol error: ", text].concat();
        if let Self::NotBulk(byte) = self {
            line.extend([byte, b'\'']);
        }
        line
    }
}

/// One step of [`Requests::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A command is complete and all its arguments are pushed.
    Complete,
    /// More bytes are needed.
    Partial,
}

/// A number, if it is one, and where its line ends.
type Header = (Option<i64>, usize);

/// The state between two commands, or inside one.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Where the command under way begins.
    begun: usize,
    /// The first byte not yet understood.
    position: usize,
    /// Arguments still to come; zero between commands.
    missing: usize,
    /// The length of the bulk string under way.
    bulk: Option<usize>,
    /// Where the search for a line's end goes on, counted from `position`.
    searched: usize,
}

impl Requests {
    /// Returns how many bytes at the front of the buffer belong to complete commands.
    pub(crate) fn complete(&self) -> usize {
        self.begun
    }

    /// Tells that those bytes were taken out of the buffer.
    ///
    /// Spans of a command under way would point to the wrong place: drop them, it is read again from its beginning.
    /// That happens once per command at most, for then it lies at the front of the buffer.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Returns how many bytes the buffer must hold before the next step can succeed.
    pub(crate) fn needed(&self) -> usize {
        self.position + self.bulk.map_or(0, |len| len + 2)
    }

    /// Reads on; pushes the arguments it finds onto `spans`.
    ///
    /// An empty command (`*0`, an empty line) is skipped. The spans of a partial command stay pushed.
    pub(crate) fn next(
        &mut self,
        buffer: &mut [u8],
        spans: &mut Vec<Span>,
    ) -> Result<Request, ProtocolError> {
        while self.missing == 0 {
            self.begun = self.position;
            match buffer.get(self.position) {
                None => return Ok(Request::Partial),
                Some(b'*') => {
                    let line = buffer.get(self.position..).unwrap_or_default();
                    if let Some((count, header_len)) = short_header(line) {
                        self.searched = 0;
                        self.position += header_len;
                        self.missing = count;
                        continue;
                    }
                    let count = self.header(buffer, ProtocolError::LongCount)?;
                    let Some((count, after)) = count else { return Ok(Request::Partial) };
                    let count = count
                        .filter(|&count| count <= ARGUMENTS_MAX)
                        .ok_or(ProtocolError::BadCount)?;
                    self.position = after;
                    self.missing = usize::try_from(count).unwrap_or(0);
                }
                Some(_) => match self.inline(buffer, spans)? {
                    Some(true) => {
                        self.begun = self.position;
                        return Ok(Request::Complete);
                    }
                    Some(false) => {}
                    None => return Ok(Request::Partial),
                },
            }
        }
        while self.missing > 0 {
            let short = self.short_argument(buffer);
            match short.map_or_else(|| self.argument(buffer), |span| Ok(Some(span)))? {
                Some(span) => spans.push(span),
                None => return Ok(Request::Partial),
            }
        }
        self.begun = self.position;
        Ok(Request::Complete)
    }

    /// Reads one `$length` and its bytes if the length is short and all is there, as nearly always.
    #[inline]
    fn short_argument(&mut self, buffer: &[u8]) -> Option<Span> {
        let line = buffer.get(self.position..)?;
        let (len, header_len) = short_header(line)?;
        if self.bulk.is_some() || line.first() != Some(&b'$') || header_len + len + 2 > line.len() {
            return None;
        }
        let start = self.position + header_len;
        self.searched = 0;
        self.position = start + len + 2;
        self.missing -= 1;
        Some(Span::new(start, start + len))
    }

    /// Reads one `$length` and its bytes.
    #[inline(never)]
    fn argument(&mut self, buffer: &[u8]) -> Result<Option<Span>, ProtocolError> {
        let len = match self.bulk {
            Some(len) => len,
            None => {
                let header = self.header(buffer, ProtocolError::LongLength)?;
                let Some((len, after)) = header else {
                    return Ok(None);
                };
                let first = buffer.get(self.position).copied().unwrap_or(0);
                if first != b'$' {
                    return Err(ProtocolError::NotBulk(first));
                }
                let len = len
                    .filter(|len| (0..=BULK_BYTES_MAX).contains(len))
                    .ok_or(ProtocolError::BadLength)?;
                self.position = after;
                usize::try_from(len).unwrap_or(0)
            }
        };
        let end = self.position + len;
        if end + 2 > buffer.len() {
            self.bulk = Some(len);
            return Ok(None);
        }
        self.bulk = None;
        let span = Span::new(self.position, end);
        // Redis takes the two bytes that end a bulk string without looking at them.
        self.position = end + 2;
        self.missing -= 1;
        Ok(Some(span))
    }

    /// Reads `?number\r\n` at the current position: the number if it is one, and where the line ends.
    fn header(
        &mut self,
        buffer: &[u8],
        long: ProtocolError,
    ) -> Result<Option<Header>, ProtocolError> {
        let line = buffer.get(self.position..).unwrap_or_default();
        let Some(end) = line.iter().skip(self.searched).position(|&byte| byte == b'\r') else {
            self.searched = line.len();
            return if line.len() > LINE_BYTES_MAX { Err(long) } else { Ok(None) };
        };
        let end = self.searched + end;
        if end + 2 > line.len() {
            return Ok(None);
        }
        self.searched = 0;
        Ok(Some((line.get(1..end).and_then(parse_integer), self.position + end + 2)))
    }

    /// Reads one line of words; `Some(false)` if it is empty.
    fn inline(
        &mut self,
        buffer: &mut [u8],
        spans: &mut Vec<Span>,
    ) -> Result<Option<bool>, ProtocolError> {
        let line = buffer.get(self.position..).unwrap_or_default();
        let Some(end) = line.iter().skip(self.searched).position(|&byte| byte == b'\n') else {
            self.searched = line.len();
            return if line.len() > LINE_BYTES_MAX {
                Err(ProtocolError::LongInline)
            } else {
                Ok(None)
            };
        };
        let (start, end) = (self.position, self.position + self.searched + end);
        self.searched = 0;
        self.position = end + 1;
        let before = spans.len();
        inline::split(buffer, start, end, spans).ok_or(ProtocolError::Unbalanced)?;
        Ok(Some(spans.len() > before))
    }
}

/// Reads `?n\r\n` or `?nn\r\n`, which nearly every header is: the number, and how long the line is.
#[inline]
fn short_header(line: &[u8]) -> Option<(usize, usize)> {
    match *line {
        [_, digit @ b'0'..=b'9', b'\r', _, ..] => Some((usize::from(digit - b'0'), 4)),
        [_, tens @ b'1'..=b'9', ones @ b'0'..=b'9', b'\r', _, ..] => {
            Some((usize::from(tens - b'0') * 10 + usize::from(ones - b'0'), 5))
        }
        _ => None,
    }
}
