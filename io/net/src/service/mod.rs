//! The interface between who speaks HTTP with clients and who answers them within this process: a local service, such as
//! the storage areas.
//!
//! Who speaks HTTP reads the head, hands over a [`Request`] and its [`Body`], and sends the [`Answer`]; framing, limits,
//! timeouts, keep-alive, logs are its part. All of it lives on one worker's event loop: nothing here is `Send` but the
//! service itself, and nothing may block. What must wait for a disk does so on threads of the service's own.

mod answer;
mod body;
mod file;
mod request;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

pub use answer::{Answer, ChunkSource, Content, Part, unfold};
pub use body::{Body, BodySource};
pub use file::FileSource;
pub use request::{ClientTls, HeaderLine, Request};

/// A future of one worker.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// Answers requests. One value serves all workers.
pub trait Service: fmt::Debug + Send + Sync {
    /// Answers a request to the part of the service that the config calls `name`. The future is dropped when nobody waits
    /// for the answer any more.
    fn call(&self, name: &str, request: Request, body: Body) -> LocalFuture<Answer>;
}
