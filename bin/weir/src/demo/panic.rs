//! Cleans up when this program panics.

use std::path::PathBuf;

/// Removes `directory` if there is a panic that ends the process at once, as it does in release builds. Elsewhere the
/// stack is unwound, and its owner removes it. Children die with their parent.
pub(super) fn remove_on_abort(directory: PathBuf) {
    if cfg!(panic = "unwind") {
        return;
    }
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        others(panic);
        // Whatever hinders it, there is nobody left to be told.
        let _ = std::fs::remove_dir_all(&directory);
    }));
}
