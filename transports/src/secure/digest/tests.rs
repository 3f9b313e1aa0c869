use super::*;
use std::fmt::Write;
use zeroize::ZeroizeOnDrop;

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    bytes.iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
    hex
}

/// RFC 7693, appendix B.
#[test]
fn the_example_of_rfc_7693_comes_out() {
    let expected = "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982";
    assert_eq!(hex(&hash(&[b"abc"])), expected);
    assert_eq!(hash(&[b"a", b"", b"bc"]), hash(&[b"abc"]));
}

/// The keyed vectors of the BLAKE2 authors (`testvectors/blake2s-kat.txt`): key and input count up from zero. Those
/// of sixteen bytes are what CPython's `hashlib`, which has their reference implementation, gives.
#[test]
fn the_keyed_vectors_come_out() {
    let key = Key::new(std::array::from_fn(|at| at as u8));
    let vectors = [
        (
            0,
            "48a8997da407876b3d79c0d92325ad3b89cbb754d86ab71aee047ad345fd2c49",
            "9536f9b267655743dee97b8a670f9f53",
        ),
        (
            1,
            "40d15fee7c328830166ac3f918650f807e7e01e177258cdc0a39b11f598066f1",
            "13bacfb85b48a1223c595f8c1e7e82cb",
        ),
        (
            255,
            "3fb735061abc519dfe979e54c1ee5bfad0a9d858b3315bad34bde999efd724dd",
            "cd075928ab7e6883e697fe7fd3ac43ee",
        ),
    ];
    for (length, long, short) in vectors {
        let input: Vec<u8> = (0..length).collect();
        for cut in [0, input.len() / 2, input.len()] {
            let (label, rest) = input.split_at(cut);
            assert_eq!(hex(derive(&key, label, &[rest]).bytes()), long);
            assert_eq!(hex(&code(&key, &[label, rest])), short);
        }
    }
}

#[test]
fn a_code_fits_what_it_was_made_of_and_nothing_else() {
    let (key, parts): (_, [&[u8]; 2]) = (Key::new([5; 32]), [b"some", b"thing"]);
    let made = code(&key, &parts);
    assert!(fits(&key, &parts, &made) && fits(&key, &[b"something"], &made));
    for bit in 0..made.len() * 8 {
        let mut altered = made;
        altered[bit / 8] ^= 1 << (bit % 8);
        assert!(!fits(&key, &parts, &altered), "bit {bit}");
    }
    assert!(!fits(&key, &parts, &made[1..]) && !fits(&key, &parts, &[]));
    assert!(!fits(&Key::new([6; 32]), &parts, &made));
}

/// They have keys in them.
#[test]
fn states_are_wiped() {
    fn is_wiped<T: ZeroizeOnDrop>() {}
    is_wiped::<blake2::Blake2sVarCore>();
    is_wiped::<Blake2sMac<U16>>();
    is_wiped::<Blake2sMac<U32>>();
}
