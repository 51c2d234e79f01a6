//! Weir's own tokens: the token endpoint (RFC 6749 section 4.4), macaroon requests of dCache clients, and
//! short-lived tokens for redirects to a node.
//!
//! One of Weir's own tokens contains the identity of its holder and grants nothing by itself. Its bearer may
//! do what the holder may do at that moment, within the token's scopes, until the token expires.

mod claims;
mod duration;
mod endpoint;
mod key;
mod limit;
mod macaroon;
mod request;
mod token;

pub use claims::{Binding, Presentation};
pub use duration::{DurationError, parse_duration};
pub use endpoint::{Endpoint, EndpointError, EndpointPage};
pub use key::{KeyError, OwnKey, OwnKeys};
pub use limit::ClientLimit;
pub use macaroon::{MacaroonError, MacaroonRequest, macaroon_response};
pub use request::{RequestError, TokenRequest, error_response, token_response};
pub use token::{Grant, IssueError, Issued, Minting, narrow};
