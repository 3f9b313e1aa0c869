//! A planted fault: a pointer is used after its place was lent out again. Miri must report it.

#[test]
fn writes_where_another_borrows() {
    let mut word = 0_u64;
    let early = &raw mut word;
    let late = &mut word;
    // SAFETY: none; that is the fault.
    unsafe { *early = 1 };
    *late = 2;
    assert_eq!(word, 2);
}
