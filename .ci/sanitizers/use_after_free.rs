//! A planted fault: a read of freed memory. AddressSanitizer must report it.

#[test]
fn reads_a_freed_word() {
    let word = Box::into_raw(Box::new(7_u64));
    // SAFETY: the pointer comes from `into_raw` and is turned back once.
    drop(unsafe { Box::from_raw(word) });
    // SAFETY: none; that is the fault.
    assert_eq!(unsafe { word.read_volatile() }, 7);
}
