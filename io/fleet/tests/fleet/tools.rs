//! Helpers of several tests.

use weir_fleet::Token;

/// Runs a future to its end on this thread, with sockets, timers and child processes.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Does the same in virtual time: if no task is ready, the clock jumps to the next timer.
pub(crate) fn run_virtually<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap().block_on(future)
}

pub(crate) fn token(text: &str) -> Token {
    Token::new(text).unwrap()
}
