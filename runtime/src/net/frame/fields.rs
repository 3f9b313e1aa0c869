//! What frames are made of: numbers, texts, reasons, envelopes and what is left.

use super::{Envelope, FrameError, TEXT_BYTES_MAX};
use crate::event::Undelivered;

/// What is left to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], FrameError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(FrameError::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        self.take(N)?.try_into().map_err(|_| FrameError::Short)
    }

    pub(super) fn u8(&mut self) -> Result<u8, FrameError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, FrameError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, FrameError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, FrameError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, FrameError> {
        let length = self.u8()?;
        str::from_utf8(self.take(length.into())?).map_err(|_| FrameError::NotText)
    }

    pub(super) fn why(&mut self) -> Result<Undelivered, FrameError> {
        let code = self.u8()?;
        Undelivered::of_code(code).ok_or(FrameError::UnknownReason(code))
    }

    pub(super) fn envelope(&mut self) -> Result<Envelope<'a>, FrameError> {
        Ok(Envelope {
            actor: self.u64()?,
            version: self.u16()?,
            message: self.u32()?,
            schema: self.u32()?,
            arguments: self.rest(),
        })
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// What has been written.
pub(super) struct Writer<'a>(pub(super) &'a mut Vec<u8>);

impl Writer<'_> {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let text = cut(text);
        self.u8(u8::try_from(text.len()).unwrap_or(u8::MAX)).bytes(text.as_bytes())
    }

    pub(super) fn envelope(&mut self, envelope: &Envelope<'_>) -> &mut Self {
        self.u64(envelope.actor)
            .bytes(&envelope.version.to_le_bytes())
            .u32(envelope.message)
            .u32(envelope.schema)
            .bytes(envelope.arguments)
    }
}

/// As much of a text as fits.
fn cut(text: &str) -> &str {
    let ends = (0..=TEXT_BYTES_MAX.min(text.len())).rev();
    ends.into_iter().find_map(|end| text.get(..end)).unwrap_or_default()
}
