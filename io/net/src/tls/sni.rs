//! Brings the server name that a client asked for from the certificate resolver to the stream.
//!
//! rustls's unbuffered API does not tell it, but asks the resolver, on this very thread, while it works on the
//! ClientHello that the stream has just handed over.

use std::cell::RefCell;

thread_local! {
    static ASKED: RefCell<Option<Box<str>>> = const { RefCell::new(None) };
}

/// Notes the name in the ClientHello that is being worked on.
pub(super) fn note(name: Option<&str>) {
    ASKED.set(name.map(Box::from));
}

/// The name noted since the last call.
pub(super) fn take() -> Option<Box<str>> {
    ASKED.take()
}
