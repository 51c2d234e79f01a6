//! Which route takes a request, and why another one does not.

mod glob;
mod host;
mod matcher;
mod request;
mod table;

pub use matcher::Mismatch;
pub use request::RouteRequest;
pub use table::{Explanation, RouteError, RouteTable};
