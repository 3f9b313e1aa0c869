//! Which port of which device a node uses.

use super::verbs::{OpenError, Verbs};

/// Opens the first port that opens, of the device of that name or of any. `gid_index` says by which of a port's
/// addresses it is reached.
///
/// # Errors
/// None opens: what the one says that came nearest to it.
pub(super) fn open_first<V: Verbs>(
    verbs: &V,
    name: Option<&str>,
    gid_index: impl Fn(&str, u8) -> u8,
) -> Result<V::Device, OpenError> {
    let mut why = OpenError::NoDevice(name.unwrap_or("of any name").to_owned());
    for device in verbs.devices()? {
        if name.is_some_and(|name| name != device.name) {
            continue;
        }
        for port in 1..=u8::MAX {
            let error = match verbs.open(&device.name, port, gid_index(&device.name, port)) {
                Ok(device) => return Ok(device),
                Err(error) => error,
            };
            let is_of_port = matches!(error, OpenError::PortDown(_) | OpenError::NoGid(_));
            if nearness(&error) > nearness(&why) {
                why = error;
            }
            // There are no more ports, or all of them say the same.
            if !is_of_port {
                break;
            }
        }
    }
    Err(why)
}

/// How near a port was to being opened.
fn nearness(error: &OpenError) -> u8 {
    match error {
        OpenError::PortDown(_) => 4,
        OpenError::NoGid(_) => 3,
        OpenError::NotPermitted => 2,
        OpenError::System(_) => 1,
        OpenError::NoLibrary { .. }
        | OpenError::OldLibrary { .. }
        | OpenError::NoDevice(_)
        | OpenError::NoPort(_) => 0,
    }
}

#[cfg(test)]
mod tests;
