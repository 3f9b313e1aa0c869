use super::*;

#[test]
fn what_is_missing_is_named() {
    assert_eq!(Library::load(c"libgreenroom-none.so.1").err(), Some(Missing::Library));
    let other = Library::load(c"libc.so.6").err();
    assert_eq!(other, Some(Missing::Function("ibv_get_device_list")));
}
