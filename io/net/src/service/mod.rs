//! The interface between who speaks HTTP with clients and who answers them within this process: a local service, such as
//! the storage areas, and the files that servers name in place of a body.
//!
//! Who speaks HTTP reads the head, hands over a [`Request`] and its [`Body`], and sends the [`Answer`]; framing, limits,
//! timeouts, keep-alive, logs are its part. All of it lives on one worker's event loop: nothing here is `Send` but the
//! service itself, and nothing may block. What must wait for a disk does so on threads of the service's own.

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

/// A future of one worker.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// What a request came to.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    /// Its method; empty for one that nobody knows.
    pub method: &'a [u8],
    /// The status of its answer; `None` = it got none.
    pub status: Option<u16>,
    /// Bytes of its body that came.
    pub request_bytes: u64,
    /// Bytes of the answer's body that went out.
    pub response_bytes: u64,
    /// The answer went out whole.
    pub whole: bool,
}

/// Answers requests. One value serves all workers.
pub trait Service: fmt::Debug + Send + Sync {
    /// Answers a request to the part of the service that the config calls `name`. The future is dropped when nobody waits
    /// for the answer any more.
    fn call(&self, name: &str, request: Request, body: Body) -> LocalFuture<Answer>;

    /// Answers a request to the pool that the config calls `pool` with the file that a server of it has named. The future is
    /// dropped when nobody waits for the answer any more.
    fn deliver(&self, pool: &str, request: Request, order: FileOrder) -> LocalFuture<Delivery>;

    /// Takes the body of a request to `pool` into the file that a server of it has named. Nobody sees it there yet, and nothing is
    /// left of it if what is returned is dropped. What it is not taken for is the client's answer.
    fn take_upload(
        &self,
        pool: &str,
        request: Request,
        body: Body,
        target: FileTarget,
    ) -> LocalFuture<Result<TakenUpload, Delivery>>;

    /// A request that it was called with is over. Must not block.
    fn done(&self, name: &str, done: &Done<'_>) {
        let _ = (name, done);
    }
}
