//! What `snow` computes with: the crate's own cipher, hash and curve, so that no second copy of them is
//! built and what it leaves behind is wiped.
//!
//! The ephemeral key is drawn before and handed in, so that a handshake is a function of its inputs.

use super::aead::{Aead, Cipher as Sealing, TAG_BYTES};
#[cfg(fuzzing)]
use super::fuzz::products::{agree, public_of};
#[cfg(not(fuzzing))]
use super::identity::{agree, public_of};
use super::key::{KEY_BYTES, Key};
use super::wire::Suite;
use blake2::Blake2s256;
use blake2::digest::Digest;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};
use zeroize::Zeroizing;

/// What a handshake begins with.
pub(crate) struct Start<'a> {
    pub(crate) suite: Suite,
    pub(crate) secret: &'a Key,
    /// The other's key, where it is known.
    pub(crate) remote: Option<&'a [u8; KEY_BYTES]>,
    /// What both must have seen alike, beside the messages. [UDP-32]
    pub(crate) prologue: &'a [u8],
    /// The psk, where it is known from the start.
    pub(crate) psk: Option<&'a Key>,
    pub(crate) ephemeral: Key,
}

/// Where in the pattern the psk stands.
pub(crate) fn psk_place(suite: Suite) -> u8 {
    match suite {
        Suite::Classic | Suite::Hybrid => 2,
        Suite::FirstContact => 3,
    }
}

impl Start<'_> {
    pub(crate) fn initiator(self) -> Result<HandshakeState, Error> {
        let resolver = self.resolver();
        self.builder(resolver)?.build_initiator()
    }

    pub(crate) fn responder(self) -> Result<HandshakeState, Error> {
        let resolver = self.resolver();
        self.builder(resolver)?.build_responder()
    }

    fn resolver(&self) -> Box<Resolver> {
        Box::new(Resolver(self.ephemeral.clone()))
    }

    fn builder(&self, resolver: Box<dyn CryptoResolver + Send>) -> Result<Builder<'_>, Error> {
        let name = match self.suite {
            Suite::Classic | Suite::Hybrid => "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s",
            Suite::FirstContact => "Noise_XXpsk3_25519_ChaChaPoly_BLAKE2s",
        };
        let mut builder = Builder::with_resolver(name.parse()?, resolver);
        builder = builder.local_private_key(self.secret.bytes())?.prologue(self.prologue)?;
        if let Some(remote) = self.remote {
            builder = builder.remote_public_key(remote)?;
        }
        if let Some(psk) = self.psk {
            builder = builder.psk(psk_place(self.suite), psk.bytes())?;
        }
        Ok(builder)
    }
}

struct Resolver(Key);

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Drawn(Some(self.0.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(|| Box::new(X25519::default()) as _)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        matches!(choice, HashChoice::Blake2s).then(|| Box::new(Blake2s(Blake2s256::new())) as _)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        matches!(choice, CipherChoice::ChaChaPoly).then(|| Box::new(ChaChaPoly(None)) as _)
    }
}

/// The ephemeral key, once.
struct Drawn(Option<Key>);

impl Random for Drawn {
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        let key = self.0.take().ok_or(Error::Rng)?;
        out.copy_from_slice(key.bytes().get(..out.len()).ok_or(Error::Rng)?);
        Ok(())
    }
}

#[derive(Default)]
struct X25519 {
    secret: Zeroizing<[u8; KEY_BYTES]>,
    public: [u8; KEY_BYTES],
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY_BYTES
    }

    fn priv_len(&self) -> usize {
        KEY_BYTES
    }

    fn set(&mut self, secret: &[u8]) {
        self.secret.copy_from_slice(secret);
        self.public = public_of(&self.secret);
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        random.try_fill_bytes(self.secret.as_mut_slice())?;
        self.public = public_of(&self.secret);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        self.secret.as_slice()
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public = public.first_chunk().ok_or(Error::Dh)?;
        let shared = Zeroizing::new(agree(&self.secret, public).ok_or(Error::Dh)?);
        out.get_mut(..KEY_BYTES).ok_or(Error::Dh)?.copy_from_slice(shared.as_slice());
        Ok(())
    }
}

struct Blake2s(Blake2s256);

impl Hash for Blake2s {
    fn name(&self) -> &'static str {
        "BLAKE2s"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0 = Blake2s256::new();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        out[..32].copy_from_slice(&self.0.finalize_reset());
    }
}

struct ChaChaPoly(Option<Sealing>);

impl Cipher for ChaChaPoly {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; KEY_BYTES]) {
        self.0 = Some(Sealing::new(&Key::new(*key)));
    }

    fn encrypt(&self, nonce: u64, header: &[u8], text: &[u8], out: &mut [u8]) -> usize {
        let cipher = self.0.as_ref().expect("snow sets the key before it seals");
        let (sealed, rest) = out.split_at_mut(text.len());
        sealed.copy_from_slice(text);
        let tag = cipher.seal(nonce, header, sealed);
        rest[..TAG_BYTES].copy_from_slice(&tag);
        text.len() + TAG_BYTES
    }

    fn decrypt(
        &self,
        nonce: u64,
        header: &[u8],
        text: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let cipher = self.0.as_ref().ok_or(Error::Decrypt)?;
        let (sealed, tag) = text.split_last_chunk().ok_or(Error::Decrypt)?;
        let out = out.get_mut(..sealed.len()).ok_or(Error::Decrypt)?;
        out.copy_from_slice(sealed);
        cipher.open(nonce, header, out, tag).map_err(|_| Error::Decrypt)?;
        Ok(sealed.len())
    }
}

#[cfg(test)]
mod tests;
