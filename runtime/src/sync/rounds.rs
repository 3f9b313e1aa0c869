//! How much a test does: less where each step is watched.

/// `usual`; under a sanitizer or Valgrind `watched`, and under Miri, which takes hundreds of times as long as the
/// machine itself, `interpreted`.
pub(crate) const fn rounds(usual: usize, watched: usize, interpreted: usize) -> usize {
    if cfg!(miri) {
        interpreted
    } else if cfg!(sanitized) {
        watched
    } else {
        usual
    }
}
