//! HTTP/1 as pure decisions: framing, heads, rewriting, route matching and retry policy (RFC 9110, RFC 9112).
//!
//! Works on byte slices that the caller has read, and writes into buffers that the caller sends. It uses no
//! sockets and no clock.

pub mod access_log;
mod answer;
mod body;
mod cookie;
pub mod expression;
mod forward;
mod forwarding;
mod head;
mod header_rule;
mod lenient;
mod limits;
mod number;
mod offload;
mod path;
mod refusal;
mod request_key;
mod retry;
mod route;
mod routing;
mod template;
mod trace;
mod url_param;
pub mod websocket;

pub use answer::{Answer, append_content_length, append_line, append_status_line, reason};
pub use body::{BodyScanner, ChunkError, ChunkScanner, Dechunker, TrailerFault, TrailerRules};
pub use cookie::{
    CookieAttributes, CookieEdit, PREFIX_END, SameSite, SetCookieEdit, append_set_cookie, cookie_pairs,
    cookies_named, is_cookie_name, is_cookie_value, set_cookie_pair,
};
pub use forward::{
    Destination, Exchange, Forwarder, Peer, RequestContext, RequestText, ResponseContext, ResponseWritten,
    RewriteError, RouteRewriter, Scheme, TlsNames,
};
pub use forwarding::{ForwardedFor, ForwardingRules, RequestIdRule};
pub use head::{
    Framing, HeaderEntry, HeaderFault, HeaderTable, KnownHeader, Method, Repairs, RequestError, RequestHead,
    ResponseError, ResponseHead, ResponseTo, Span, Target, TargetForm, Version, fold_for_cgi,
    is_worth_parsing, parse_request, parse_response, split_authority,
};
pub use header_rule::{HeaderAction, HeaderRule};
pub use lenient::{Lenient, Repair};
pub use limits::HeadLimits;
pub use offload::{OffloadOrder, OffloadTarget};
pub use path::{
    AboveRoot, Backslash, BadEscape, EncodedNul, EncodedSlash, NormalPath, NormalTarget, PathFault,
    PathParameters, PathRules, PatternFault, check_pattern,
};
pub use refusal::RefusalRule;
pub use request_key::{RequestKey, RequestKeyReader, UriPart};
pub use retry::{FailedTry, Progress, RetryBudget, may_retry};
pub use route::{
    Action, FixedResponse, HeaderMatch, HeaderTest, HostPattern, PathPattern, PathRewrite, RedirectRule,
    RouteHeaders, RouteMatch,
};
pub use routing::{
    Explanation, ExpressionFailure, Mismatch, PathSet, RouteDecision, RouteError, RouteRequest, RouteTable,
};
pub use template::{Template, TemplateError, Variables};
pub use trace::append_trace;
pub use url_param::url_param;
