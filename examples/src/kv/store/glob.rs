//! Redis's glob patterns: `*`, `?`, `[a-z]`, `[^a]`, `\x`.

/// Returns whether all of `text` matches `pattern`.
///
/// Backtracks to the last star only, so the worst case is the product of the two lengths.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, seen));
            at += 1;
            continue;
        }
        let step = match (pattern.get(at), text.get(seen)) {
            (None, None) => return true,
            (Some(_), Some(&byte)) => one(pattern, at, byte),
            (None, Some(_)) | (Some(_), None) => None,
        };
        match (step, star) {
            (Some(next), _) => {
                at = next;
                seen += 1;
            }
            (None, Some((star_at, star_seen))) if star_seen < text.len() => {
                star = Some((star_at, star_seen + 1));
                at = star_at + 1;
                seen = star_seen + 1;
            }
            (None, _) => return false,
        }
    }
}

/// Matches one byte against the item at `at`; returns where the next item begins.
fn one(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match *pattern.get(at)? {
        b'?' => Some(at + 1),
        b'[' => class(pattern, at + 1, byte),
        b'\\' if at + 1 < pattern.len() => (pattern.get(at + 1) == Some(&byte)).then_some(at + 2),
        other => (other == byte).then_some(at + 1),
    }
}

/// Matches one byte against the class whose inside begins at `at`. An unclosed class ends with the pattern.
fn class(pattern: &[u8], mut at: usize, byte: u8) -> Option<usize> {
    let negated = pattern.get(at) == Some(&b'^');
    if negated {
        at += 1;
    }
    let mut found = false;
    loop {
        let rest = pattern.get(at..).unwrap_or_default();
        match *rest {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                found |= escaped == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                found |= (from.min(to)..=from.max(to)).contains(&byte);
                at += 3;
            }
            [single, ..] => {
                found |= single == byte;
                at += 1;
            }
        }
    }
    (found != negated).then_some(at)
}
