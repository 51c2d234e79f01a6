//! The admin HTTP interface: metrics, status page, JSON and CSV. It is read-only.

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
