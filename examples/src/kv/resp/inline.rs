//! Commands typed by hand: one line, words apart, quotes as in Redis.
//!
//! Words end at a NUL, what follows it in the line is passed over: to Redis the line is a string of C.
//!
//! A word never grows when its quotes and escapes are taken out, so it is unescaped where it lies.

use super::Span;

/// Splits `buffer[start..end]` into words, unescaped in place; `None` for unbalanced quotes.
pub(crate) fn split(
    buffer: &mut [u8],
    start: usize,
    end: usize,
    spans: &mut Vec<Span>,
) -> Option<()> {
    let line = buffer.get_mut(start..end)?;
    let len = line.iter().position(|&byte| byte == 0).unwrap_or(line.len());
    let line = &mut line[..len];
    let mut read = 0;
    loop {
        while line.get(read).is_some_and(|&byte| is_blank(byte)) {
            read += 1;
        }
        if read >= line.len() {
            return Some(());
        }
        let from = read;
        let mut write = read;
        while let Some(&byte) = line.get(read) {
            match byte {
                b'"' | b'\'' => {
                    read = quoted(line, read, &mut write)?;
                    break;
                }
                // To Redis the other blanks part no words.
                b' ' | b'\t' | b'\n' | b'\r' => break,
                _ => {
                    line[write] = byte;
                    write += 1;
                    read += 1;
                }
            }
        }
        spans.push(Span::new(start + from, start + write));
    }
}

/// Copies the quoted text that opens at `read`; returns where reading goes on.
fn quoted(line: &mut [u8], read: usize, write: &mut usize) -> Option<usize> {
    let quote = *line.get(read)?;
    let mut read = read + 1;
    loop {
        let byte = *line.get(read)?;
        let (value, taken) = match byte {
            _ if byte == quote => break,
            b'\\' if quote == b'"' => escaped(line.get(read + 1..)?)?,
            b'\\' if line.get(read + 1) == Some(&b'\'') => (b'\'', 2),
            _ => (byte, 1),
        };
        *line.get_mut(*write)? = value;
        *write += 1;
        read += taken;
    }
    // A closing quote must end the word.
    match line.get(read + 1) {
        Some(&next) if !is_blank(next) => None,
        _ => Some(read + 1),
    }
}

/// Decodes what follows a backslash; returns the byte and how many were taken with the backslash.
fn escaped(rest: &[u8]) -> Option<(u8, usize)> {
    if let [b'x', high, low, ..] = rest
        && let (Some(high), Some(low)) = (hex(*high), hex(*low))
    {
        return Some((high * 16 + low, 4));
    }
    let value = match *rest.first()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    };
    Some((value, 2))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}
