//! Tests are told when something is asked of a device that takes a call of the system with a real one.

use std::cell::RefCell;
use std::rc::Rc;

type Watch = Rc<dyn Fn()>;

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Has `watch` asked at each such call of this thread from now on.
pub(crate) fn watch(watch: impl Fn() + 'static) {
    WATCH.set(Some(Rc::new(watch)));
}

pub(super) fn made() {
    // Who fails leaves things behind that are destroyed then, and to fail once more would end all tests.
    if std::thread::panicking() {
        return;
    }
    // What a thread leaves behind is dropped when this is gone.
    if let Ok(Some(watch)) = WATCH.try_with(|watch| watch.borrow().clone()) {
        watch();
    }
}
