//! Which port of which device a node uses.

use super::verbs::{Device, OpenError, Verbs};

/// Opens the first port that opens, or that one, of the device of that name or of any; one of a device without shared receives, which
/// connections need, only where there is no other one, to say so. `gid_index` says by which of a port's addresses it
/// is reached.
///
/// # Errors
/// None opens: what the one says that came nearest to it.
pub(super) fn open_first<V: Verbs>(
    verbs: &V,
    name: Option<&str>,
    port: Option<u8>,
    gid_index: impl Fn(&str, u8) -> u8,
) -> Result<V::Device, OpenError> {
    let mut why = OpenError::NoDevice(name.unwrap_or("of any name").to_owned());
    let mut without = None;
    for device in verbs.devices()? {
        if name.is_some_and(|name| name != device.name) {
            continue;
        }
        for (_, opened) in ports(verbs, &device.name, port, &gid_index) {
            match opened {
                Ok(device) if device.limits().shared_receives > 0 => return Ok(device),
                Ok(device) => without = without.or(Some(device)),
                Err(error) if nearness(&error) > nearness(&why) => why = error,
                Err(_) => {}
            }
        }
    }
    without.ok_or(why)
}

/// The ports of a device, or that one, each opened; but what says something of the whole device is the last.
pub(super) fn ports<'a, V: Verbs>(
    verbs: &'a V,
    name: &'a str,
    only: Option<u8>,
    gid_index: impl Fn(&str, u8) -> u8 + 'a,
) -> impl Iterator<Item = (u8, Result<V::Device, OpenError>)> + 'a {
    let mut is_over = false;
    let (first, last) = only.map_or((1, u8::MAX), |port| (port, port));
    (first..=last).map_while(move |port| {
        if is_over {
            return None;
        }
        let opened = verbs.open(name, port, gid_index(name, port));
        is_over = !matches!(opened, Ok(_) | Err(OpenError::PortDown(_) | OpenError::NoGid(_)));
        let is_there = only.is_some() || !matches!(opened, Err(OpenError::NoPort(_)));
        is_there.then_some((port, opened))
    })
}

/// How near a port was to being opened.
fn nearness(error: &OpenError) -> u8 {
    match error {
        OpenError::PortDown(_) => 4,
        OpenError::NoGid(_) => 3,
        OpenError::NotPermitted => 2,
        OpenError::System(_) | OpenError::Iwarp | OpenError::NoPort(_) => 1,
        OpenError::NoLibrary { .. } | OpenError::OldLibrary { .. } | OpenError::NoDevice(_) => 0,
    }
}

#[cfg(test)]
mod tests;
