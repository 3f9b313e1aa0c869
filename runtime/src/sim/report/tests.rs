//! What a report says.

use super::{FEATURES, features};

#[test]
fn every_feature_is_known() {
    let manifest: toml::Table = include_str!("../../../Cargo.toml").parse().expect("it is TOML");
    let declared: Vec<_> = manifest["features"].as_table().expect("a table").keys().collect();
    assert_eq!(FEATURES.map(|(name, _)| name).to_vec(), declared);
}

#[test]
fn the_command_asks_for_the_features_of_its_own_crate() {
    assert_eq!(features("another"), "");
    let own = features("greenroom");
    for (name, is_on) in FEATURES {
        assert_eq!(own.contains(name), is_on, "{own}");
    }
}
