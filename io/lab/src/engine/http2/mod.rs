//! HTTP/2 without tasks: a connection is polled when its socket or one of its streams has something to do.

mod channel;
mod link;
mod stream;
mod wakes;

pub(super) use link::Link;
pub(super) use stream::Stream;
