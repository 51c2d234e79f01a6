//! Selection of the route for a request, and the reasons why other routes do not match.

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
