//! Which route takes a request, and why another one does not.

mod glob;
mod host;
mod matcher;
mod path_set;
mod request;
mod table;

pub use matcher::Mismatch;
pub use path_set::PathSet;
pub use request::RouteRequest;
pub use table::{Explanation, ExpressionFailure, RouteDecision, RouteError, RouteTable};
