//! Request and response heads: strict parsing into offsets (RFC 9112 sections 2 to 5).

mod authority;
mod cgi;
mod connection;
mod fault;
mod framing;
mod known;
mod lines;
mod method;
mod progress;
mod request;
mod request_error;
mod response;
pub(crate) mod scan;
mod span;
mod swar;
mod table;
mod target;
mod version;

pub use authority::split_authority;
pub use cgi::fold_for_cgi;
pub use fault::HeaderFault;
pub use framing::Framing;
pub use known::KnownHeader;
pub(crate) use known::{KNOWN, set};
pub use method::Method;
pub use progress::is_worth_parsing;
pub use request::{Repairs, RequestHead, parse_request};
pub use request_error::RequestError;
pub use response::{ResponseError, ResponseHead, ResponseTo, parse_response};
pub use span::Span;
pub use table::{HeaderEntry, HeaderTable};
pub use target::{Target, TargetForm};
pub use version::Version;
