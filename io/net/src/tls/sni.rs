//! Passes the requested server name from the certificate resolver to the stream.
//!
//! rustls's unbuffered API does not report the name. But it calls the resolver on the same thread while it
//! processes the stream's ClientHello.

use std::cell::RefCell;

thread_local! {
    static ASKED: RefCell<Option<Box<str>>> = const { RefCell::new(None) };
}

/// Stores the name in the ClientHello that is being processed.
pub(super) fn note(name: Option<&str>) {
    ASKED.set(name.map(Box::from));
}

/// Returns the name stored since the last call.
pub(super) fn take() -> Option<Box<str>> {
    ASKED.take()
}
