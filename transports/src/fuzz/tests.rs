use super::*;
use std::fs;
use std::path::Path;

/// What the fuzzers kept does no harm, and is little.
#[test]
fn every_corpus_passes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, run) in TARGETS {
        let folder =
            fs::read_dir(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let inputs: Vec<_> = folder.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
        assert!(!inputs.is_empty(), "{name} has no corpus");
        let bytes: usize = inputs.iter().map(Vec::len).sum();
        assert!(bytes <= 64 << 10, "the corpus of {name} has {bytes} bytes: minimise it");
        inputs.iter().for_each(|input| run(input));
    }
}

/// Rows 20 and 21 of the programme, without a guide: random bytes, short and long. GREENROOM_INPUTS says how
/// many for each target.
#[test]
fn random_bytes_pass() {
    let count = std::env::var("GREENROOM_INPUTS").map_or(100, |count| count.parse().unwrap());
    let mut seed = 7_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (seed >> 33) as usize
    };
    for (_, run) in TARGETS {
        for _ in 0..count {
            let length = random() % [4, 40, 400][random() % 3];
            let input: Vec<_> = (0..length).map(|_| random() as u8).collect();
            run(&input);
        }
    }
}
