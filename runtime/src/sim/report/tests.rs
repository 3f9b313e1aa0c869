//! What a report says.

use super::{FEATURES, features, target_of, write_all};
use std::{env, fs, process};

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

#[test]
fn the_command_asks_for_the_program_where_it_is_known() {
    let folder = env::temp_dir().join(format!("greenroom-report-{}", process::id()));
    let add = |file: &str| {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        fs::write(path, "").expect("a file");
    };
    for file in ["tests/one.rs", "tests/many/main.rs", "src/lib.rs", "src/bin/tool.rs"] {
        add(file);
    }
    let target = |name| target_of(&folder, "the-bank", name);
    assert_eq!(target("one"), " --test one");
    assert_eq!(target("many"), " --test many");
    assert_eq!(target("the_bank"), " --lib");
    assert_eq!(target("tool"), "");
    add("tests/the_bank.rs");
    assert_eq!(target("the_bank"), "", "the library or the test");
    for file in ["src/bin/many.rs", "examples/one/main.rs", "tests/tool.rs"] {
        add(file);
    }
    assert_eq!(["one", "many", "tool"].map(target), [""; 3], "a test or another program");
    fs::remove_file(folder.join("tests/the_bank.rs")).expect("it is there");
    assert_eq!(target("the_bank"), " --lib");
    add("src/main.rs");
    assert_eq!(target("the_bank"), "");
    fs::remove_dir_all(folder).expect("it is there");
}

#[test]
fn a_file_has_all_values() {
    let path = env::temp_dir().join(format!("greenroom-values-{}", process::id()));
    let written = |values: &[u64]| {
        write_all(&path, values, " ").expect("a file");
        fs::read_to_string(&path).expect("it is there")
    };
    assert_eq!(written(&[]), "\n");
    assert_eq!(written(&[1, 20, 3]), "1 20 3\n");
    fs::remove_file(path).expect("it is there");
}
