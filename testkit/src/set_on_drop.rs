use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when it is dropped, also by a panic. The threads of a [`std::thread::scope`] that go on until the flag is set then end with
/// a test that fails: the scope waits for them before it passes the panic on.
#[derive(Debug)]
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_what_goes_on_until_the_flag_is_set() {
        let over = AtomicBool::new(false);
        let ended = std::panic::catch_unwind(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !over.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                });
                let _over = SetOnDrop(&over);
                panic!("as a failing assertion");
            });
        });
        assert!(ended.is_err() && over.load(Ordering::SeqCst));
    }
}
