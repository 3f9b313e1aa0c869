//! Decimal integers as Redis reads and writes them.

/// Reads an integer the way Redis does: no sign but `-`, no leading zero, no blank, nothing out of range.
pub(crate) fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value = 0i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Counted down, because the negative range is the wider one.
        value = value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// Appends `value` in decimal.
pub(crate) fn push_integer(out: &mut Vec<u8>, value: i64) {
    if let Ok(digit @ 0..=9) = u8::try_from(value) {
        out.push(b'0' + digit);
        return;
    }
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}
