//! ML-KEM-768 (FIPS 203), by `ml-kem`: the part of a hybrid handshake that a quantum computer does not
//! break. Keys are made from a seed, which is what is wiped.

use super::kem_sizes::{KEM_KEY_BYTES, KEM_TEXT_BYTES};
use super::key::Key;
use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::{DecapsulationKey768, EncapsulationKey768, Seed};

/// The secret half of a pair.
pub(crate) struct Secret(Box<DecapsulationKey768>);

/// The bytes are no encapsulation key or ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Secret {
    /// The pair that a seed of 64 random bytes gives.
    pub(crate) fn from_seed(seed: &[u8; 64]) -> Self {
        Self(Box::new(DecapsulationKey768::from_seed(Seed::from(*seed))))
    }

    /// The public half, as it is sent.
    pub(crate) fn public(&self) -> [u8; KEM_KEY_BYTES] {
        self.0.encapsulation_key().to_bytes().into()
    }

    /// The key in a ciphertext. One that was not made for this pair gives a key that nobody else has.
    pub(crate) fn open(&self, text: &[u8]) -> Result<Key, Malformed> {
        let text: &[u8; KEM_TEXT_BYTES] = text.try_into().map_err(|_| Malformed)?;
        Ok(Key::new(self.0.decapsulate(text.into()).into()))
    }
}

/// Makes a key from 32 random bytes, and the ciphertext that tells it to the holder of the pair.
pub(crate) fn encapsulate(
    public: &[u8],
    random: &[u8; 32],
) -> Result<(Key, [u8; KEM_TEXT_BYTES]), Malformed> {
    let public: &[u8; KEM_KEY_BYTES] = public.try_into().map_err(|_| Malformed)?;
    let public = EncapsulationKey768::new(public.into()).map_err(|_| Malformed)?;
    let (text, key) = public.encapsulate_deterministic(&(*random).into());
    Ok((Key::new(key.into()), text.into()))
}

#[cfg(test)]
mod tests;
