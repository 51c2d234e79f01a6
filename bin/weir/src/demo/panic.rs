//! Cleans up if this program panics.

use std::path::PathBuf;

/// Installs a hook that removes `directory` on a panic, if a panic aborts the process as in release builds.
/// In other builds the stack is unwound, and the owner of the directory removes it. Children die with their
/// parent.
pub(super) fn remove_on_abort(directory: PathBuf) {
    if cfg!(panic = "unwind") {
        return;
    }
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        others(panic);
        // The process is ending, so a failure cannot be reported.
        let _ = std::fs::remove_dir_all(&directory);
    }));
}
