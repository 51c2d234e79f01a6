//! The HTTP face: metrics, status page, JSON and CSV. It only shows; nothing can be changed here.

mod pictures;
mod respond;
mod server;
mod text;

pub use server::AdminHttp;
pub use text::TextHttp;
