//! What a fuzzer does to the parser of requests; `transports/fuzz` runs it, and the test here what it kept.

use super::resp::{Request, Requests};

type Command = Vec<Vec<u8>>;

/// Requests are the same whether they come at once or in pieces, whose length is the first byte; none has more
/// bytes than came.
pub fn requests(bytes: &[u8]) {
    let Some((step, bytes)) = bytes.split_first() else { return };
    let (whole, pieces) = (read(bytes, bytes.len().max(1)), read(bytes, usize::from(*step).max(1)));
    assert_eq!(whole, pieces, "in pieces of {step} it is another");
    let taken: usize = whole.0.iter().flatten().map(Vec::len).sum();
    assert!(taken <= bytes.len());
}

/// The commands in bytes that come in pieces, and what is wrong with what follows.
fn read(bytes: &[u8], step: usize) -> (Vec<Command>, Option<Vec<u8>>) {
    let (mut requests, mut spans, mut buffer) = (Requests::default(), Vec::new(), Vec::new());
    let mut commands = Vec::new();
    for piece in bytes.chunks(step) {
        buffer.extend_from_slice(piece);
        loop {
            match requests.next(&mut buffer, &mut spans) {
                Ok(Request::Complete) => {
                    commands.push(spans.drain(..).map(|span| span.of(&buffer).to_vec()).collect());
                    assert!(requests.complete() <= buffer.len());
                }
                Ok(Request::Partial) => break,
                Err(error) => return (commands, Some(error.text())),
            }
        }
    }
    (commands, None)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_corpus_passes() {
        let corpus =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../transports/fuzz/corpus/requests");
        let inputs =
            fs::read_dir(corpus).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        assert!(inputs.map(|input| super::requests(&input)).count() > 0);
    }
}
