//! The HTTP face: metrics, status page, JSON and CSV. It only shows; nothing can be changed here.

mod door;
mod memory;
mod pictures;
mod places;
mod respond;
mod server;
mod text;

pub use door::{Door, LoggingIn, Login, LoginOutcome};
pub use server::AdminHttp;
pub use text::TextHttp;
