//! How the embedded store lays out a record in bytes: version, length of the name, name, payload.

use super::error::StoreError;
use super::store::Record;
use std::borrow::Cow;

/// A record in bytes.
///
/// # Errors
/// For a name longer than 65,535 bytes.
pub(super) fn pack(record: &Record) -> Result<Vec<u8>, StoreError> {
    let name_len = u16::try_from(record.name.len())
        .map_err(|_| StoreError::new("an event's name takes 65,535 bytes at most"))?;
    let mut bytes = Vec::with_capacity(record.bytes() + size_of::<u16>());
    bytes.extend_from_slice(&record.version.to_le_bytes());
    bytes.extend_from_slice(&name_len.to_le_bytes());
    bytes.extend_from_slice(record.name.as_bytes());
    bytes.extend_from_slice(&record.payload);
    Ok(bytes)
}

/// The record in `bytes`.
pub(super) fn unpack(bytes: &[u8]) -> Option<Record> {
    let (version, rest) = bytes.split_first_chunk()?;
    let (name_len, rest) = rest.split_first_chunk()?;
    let (name, payload) = rest.split_at_checked(usize::from(u16::from_le_bytes(*name_len)))?;
    Some(Record {
        name: Cow::Owned(std::str::from_utf8(name).ok()?.to_owned()),
        version: u32::from_le_bytes(*version),
        payload: payload.to_vec(),
    })
}
