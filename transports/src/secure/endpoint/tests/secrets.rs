//! What nobody may see: the keys that seal, those of the nodes, and that of their cluster.

use super::*;
use std::collections::BTreeSet;

/// So many bytes of a secret are as bad as all of it.
const PART_BYTES: usize = 8;
/// The nodes of a world.
const HOSTS: std::ops::RangeInclusive<u8> = 1..=3;

fn secrets() -> BTreeSet<[u8; 32]> {
    let mut secrets = watch::keys();
    secrets.extend(HOSTS.map(|host| [host; 32]));
    secrets.insert(*cluster().bytes());
    secrets
}

/// A part of a secret as digits of either base, and as it is.
fn shapes(part: &[u8]) -> [String; 4] {
    let lower: String = part.iter().map(|byte| format!("{byte:02x}")).collect();
    let list: Vec<_> = part.iter().map(u8::to_string).collect();
    [lower.to_uppercase(), lower, list.join(", "), part.escape_ascii().to_string()]
}

fn shows(text: &str, secret: &[u8; 32]) -> bool {
    let mut shapes = secret.chunks(PART_BYTES).flat_map(shapes);
    shapes.any(|shape| text.contains(&shape))
}

/// No part of a secret is in the text.
pub(super) fn assert_untold(text: &str) {
    for secret in secrets() {
        assert!(!shows(text, &secret), "{secret:?} is in {text}");
    }
}

/// No secret is in the packet.
pub(super) fn assert_unsent(packet: &[u8]) {
    let secrets = secrets();
    for window in packet.windows(32) {
        assert!(!secrets.contains(window), "a secret is in {packet:?}");
    }
}

#[test]
fn secrets_are_seen_in_whatever_shape_they_are_shown() {
    let secret = *cluster().bytes();
    for shown in [
        format!("{secret:?}"),
        format!("{:02x?}", &secret[16..24]).replace(", ", ""),
        cluster().bytes().escape_ascii().to_string(),
        PublicKey(secret).to_string(),
    ] {
        assert!(shows(&shown, &secret), "{shown}");
    }
    assert!(!shows(&format!("{:?}", cluster()), &secret));
}
