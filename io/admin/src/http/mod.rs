//! The HTTP face: metrics, status page, JSON and CSV. It only shows; nothing can be changed here.

mod respond;
mod server;

pub use server::AdminHttp;
