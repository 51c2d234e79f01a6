//! Interface between the HTTP proxy and services in the same process: storage areas, and files that servers
//! name in place of a body.
//!
//! The proxy reads the head, passes a [`Request`] and its [`Body`], and sends the [`Answer`]. It also handles
//! framing, limits, timeouts, keep-alive and logs. Everything runs on one worker's event loop: only the
//! service itself is `Send`, and no call may block. Work that waits for a disk runs on the service's own
//! threads.

mod answer;
mod body;
mod file;
mod order;
mod request;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

pub use answer::{Answer, ChunkSource, Content, Part, Value, unfold};
pub use body::{Body, BodySource};
pub use file::FileSource;
pub use order::{Delivery, FileOrder, FileTarget, Publish, TakenUpload};
pub use request::{ClientTls, HeaderLine, Request};

/// A future that stays on one worker.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// Outcome of a request.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    /// Method; empty if it is unknown.
    pub method: &'a [u8],
    /// Status of the response; `None` = there was no response.
    pub status: Option<u16>,
    /// Received bytes of the request's body.
    pub request_bytes: u64,
    /// Sent bytes of the response's body.
    pub response_bytes: u64,
    /// Set when the whole response was sent.
    pub whole: bool,
}

/// A service that answers requests. One instance serves all workers.
pub trait Service: fmt::Debug + Send + Sync {
    /// Answers a request to the storage area `name` of the config. The caller drops the future if the client
    /// no longer waits.
    fn call(&self, name: &str, request: Request, body: Body) -> LocalFuture<Answer>;

    /// Answers a request to the pool `pool` with the file that a server has named. The caller drops the
    /// future if the client no longer waits.
    fn deliver(&self, pool: &str, request: Request, order: FileOrder) -> LocalFuture<Delivery>;

    /// Stores the body of a request to `pool` in the file that a server has named. The file is not visible
    /// yet, and dropping the result removes it. An error is the response for the client.
    fn take_upload(
        &self,
        pool: &str,
        request: Request,
        body: Body,
        target: FileTarget,
    ) -> LocalFuture<Result<TakenUpload, Delivery>>;

    /// Called after a request is over. Must not block.
    fn done(&self, name: &str, done: &Done<'_>) {
        let _ = (name, done);
    }
}
