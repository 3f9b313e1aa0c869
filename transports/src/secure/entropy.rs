//! The door to randomness, so that a test can draw it from a seed.

/// The source of randomness failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no randomness is to be had")]
pub struct NoEntropy;

/// Fills bytes that nobody can guess.
pub trait Entropy: Send {
    /// Fills all of `bytes`.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source failed; nothing may then be made of the bytes.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy>;
}

/// The operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Entropy for System {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        getrandom::fill(bytes).map_err(|_| NoEntropy)
    }
}

/// So many random bytes.
pub(crate) fn draw<const N: usize>(entropy: &mut dyn Entropy) -> Result<[u8; N], NoEntropy> {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes)?;
    Ok(bytes)
}
