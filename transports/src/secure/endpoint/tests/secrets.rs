//! What nobody may see: the keys that seal, those of the nodes, that of their cluster, and the tokens of resets.

use super::*;
use watch::PART_BYTES;

/// A part of a secret as digits of either base, and as it is.
fn shapes(part: &[u8]) -> [String; 4] {
    let lower: String = part.iter().map(|byte| format!("{byte:02x}")).collect();
    let list: Vec<_> = part.iter().map(u8::to_string).collect();
    [lower.to_uppercase(), lower, list.join(", "), part.escape_ascii().to_string()]
}

fn shows(text: &str, part: &[u8]) -> bool {
    shapes(part).iter().any(|shape| text.contains(shape))
}

/// No part of a secret is in the text.
pub(super) fn assert_unshown(text: &str) {
    let parts = watch::unshown();
    assert!(!parts.is_empty(), "there are secrets");
    for part in parts {
        assert!(!shows(text, &part), "{part:?} is in {text}");
    }
}

/// No part of a secret is in the packet, but for tokens, which go to whom they are for.
pub(super) fn assert_unsent(packet: &[u8]) {
    assert!(!watch::is_in(packet), "a secret is in {packet:?}");
}

#[test]
fn secrets_are_seen_in_whatever_shape_they_are_shown() {
    let secret = *cluster().bytes();
    for shown in [
        format!("{secret:?}"),
        format!("{:02x?}", &secret[16..24]).replace(", ", ""),
        secret.escape_ascii().to_string(),
        PublicKey(secret).to_string(),
    ] {
        assert!(secret.chunks(PART_BYTES).any(|part| shows(&shown, part)), "{shown}");
    }
    let hidden = format!("{:?} {:?}", cluster(), identity(1).reset_token(1, address(1)));
    assert!(!secret.chunks(PART_BYTES).any(|part| shows(&hidden, part)));
    assert!(!hidden.contains(|digit: char| digit.is_ascii_digit()), "{hidden}");
}

#[test]
fn a_part_of_a_secret_in_a_packet_is_seen() {
    watch::forget();
    watch::hide(cluster().bytes());
    let packet = [&[7; 5][..], &cluster().bytes()[8..16], &[7; 5]].concat();
    assert!(watch::is_in(&packet));
    assert!(!watch::is_in(&packet[..12]));
}
