//! Events as values and as records.

use super::error::{DecodeError, EncodeError};
use super::store::Record;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Something that happened to an actor, as its journal keeps it. Derive it.
///
/// Each variant is stored under a name and a version. By default the name is the variant's own and the
/// version 1; write both down before the first event is stored, because the variant may be renamed later
/// and the stored name must not. Fields need serde's `Serialize` and `Deserialize`, and are stored in their
/// order, without their names.
///
/// The format, [postcard](https://docs.rs/postcard), does not describe itself: whoever reads has to know what comes.
/// So serde's `skip_serializing_if`, `untagged`, `tag` and `flatten`, and types like `serde_json::Value`, can be
/// written and not read, many of them with some values only. [`Sourced`](super::Sourced) refuses such an event: it
/// reads each one again before it hands it in. That costs a `decode` of each event, far less than its commit.
///
/// To change the fields of an event, give the new form the next version, and keep the old one as a variant
/// of its own for as long as there are journals with it:
///
/// ```
/// use greenroom::journal::{DecodeError, Event};
///
/// #[derive(Debug, PartialEq, Event)]
/// enum Happened {
///     #[event(name = "deposited", version = 2)]
///     Deposited { cents: u64, by: String },
///     #[event(name = "deposited", version = 1)]
///     DepositedAnonymously { cents: u64 },
///     #[event(name = "closed")]
///     Closed,
/// }
///
/// let event = Happened::Deposited { cents: 100, by: "Ada".to_owned() };
/// let mut record = event.encode()?;
/// assert_eq!((&*record.name, record.version), ("deposited", 2));
/// assert_eq!(Happened::decode(&record), Ok(event));
/// record.version = 3;
/// assert_eq!(Happened::decode(&record), Err(DecodeError::Unknown));
/// # Ok::<(), greenroom::journal::EncodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    note = "write `#[derive(greenroom::journal::Event)]` on it"
)]
pub trait Event: Sized + Send + 'static {
    /// The event as it is stored. Allocates.
    ///
    /// # Errors
    /// [`EncodeError`] when a field's `Serialize` fails.
    fn encode(&self) -> Result<Record, EncodeError>;

    /// The event that a record is of.
    ///
    /// # Errors
    /// [`DecodeError`] when it is of none.
    fn decode(record: &Record) -> Result<Self, DecodeError>;
}

/// Puts a record together; what `#[derive(Event)]` expands to.
#[derive(Debug)]
pub struct Encoder(Record);

impl Encoder {
    /// Begins a record under a name and version.
    #[must_use]
    pub fn new(name: &'static str, version: u32) -> Self {
        Self(Record { name: Cow::Borrowed(name), version, payload: Vec::new() })
    }

    /// Adds a field.
    ///
    /// # Errors
    /// [`EncodeError`] when it does not serialise.
    pub fn field(&mut self, field: &impl Serialize) -> Result<(), EncodeError> {
        let payload = std::mem::take(&mut self.0.payload);
        self.0.payload = encode(field, payload)?;
        Ok(())
    }

    /// The record.
    #[must_use]
    pub fn finish(self) -> Record {
        self.0
    }
}

/// Takes a record apart; what `#[derive(Event)]` expands to.
#[derive(Debug)]
pub struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    /// Begins at the first field.
    #[must_use]
    pub fn new(record: &'a Record) -> Self {
        Self(&record.payload)
    }

    /// Takes the next field.
    ///
    /// # Errors
    /// [`DecodeError::Malformed`] when it is not one of this type.
    pub fn field<T: DeserializeOwned>(&mut self) -> Result<T, DecodeError> {
        let (field, rest) = postcard::take_from_bytes(self.0)
            .map_err(|error| DecodeError::Malformed(error.to_string()))?;
        self.0 = rest;
        Ok(field)
    }

    /// Ends after the last field.
    ///
    /// # Errors
    /// [`DecodeError::Malformed`] when there is more.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.0.len() {
            0 => Ok(()),
            rest => Err(DecodeError::Malformed(format!("{rest} bytes follow its last field"))),
        }
    }
}

/// Adds a value to `bytes`.
pub(super) fn encode(value: &impl Serialize, bytes: Vec<u8>) -> Result<Vec<u8>, EncodeError> {
    postcard::to_extend(value, bytes).map_err(|error| EncodeError(error.to_string()))
}

/// Reads a value that takes all of `bytes`.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} bytes follow its end", rest.len())),
        Err(error) => Err(error.to_string()),
    }
}
