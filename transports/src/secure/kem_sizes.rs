//! The sizes of ML-KEM-768, which the format has whether or not it is built.

/// How many bytes an encapsulation key has.
pub const KEM_KEY_BYTES: usize = 1184;
/// How many bytes a ciphertext has.
pub const KEM_TEXT_BYTES: usize = 1088;
