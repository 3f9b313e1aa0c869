//! A handler must not have the name of a method that references have.

use std::fs;

#[test]
fn every_method_of_a_reference_is_reserved() {
    let root = env!("CARGO_MANIFEST_DIR");
    let read = |path: &str| fs::read_to_string(format!("{root}/{path}")).expect("it is there");
    let names = read("src/handlers/names.rs");
    let address = read("../runtime/src/actor/address.rs");
    let of_references = address.split("pub struct Ref<").nth(1).expect("it is declared there");
    let methods = of_references.split("pub fn ").chain(of_references.split("pub async fn "));
    for text in methods.skip(1).filter(|text| !text.starts_with("P: Protocol")) {
        let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        assert!(names.contains(&format!("\"{name}\"")), "`{name}` is not reserved");
    }
}
