//! A planted fault: a pointer is made from a number. Miri must report it, under strict provenance.

#[test]
fn makes_a_pointer_from_a_number() {
    let word = 7_u64;
    let number = &raw const word as usize;
    // SAFETY: none; that is the fault.
    assert_eq!(unsafe { *(number as *const u64) }, 7);
}
