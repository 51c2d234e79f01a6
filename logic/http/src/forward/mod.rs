//! Rewriting of message heads: hop-by-hop headers, forwarding headers and the rules of the route.

mod client_address;
mod context;
mod destination;
mod destination_path;
mod forwarded_for;
mod forwarder;
mod name_set;
mod path;
mod peer;
mod request;
mod response;
mod rewriter;

pub use context::{
    Exchange, RequestContext, RequestText, ResponseContext, ResponseWritten, Scheme, TlsNames,
};
pub use destination_path::Destination;
pub use forwarder::Forwarder;
pub(crate) use name_set::NameSet;
pub(crate) use path::has_prefix;
pub use peer::Peer;
pub use rewriter::{RewriteError, RouteRewriter};
