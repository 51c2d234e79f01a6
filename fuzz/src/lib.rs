//! Fuzz targets: one module for each parser of untrusted bytes, and one for the config. A target takes any
//! input and panics if a property does not hold.
//!
//! Two programs choose inputs and run the targets: libFuzzer with the wrappers in targets/ (`make fuzz`), and
//! the test program `replay` (`make test`).
// A target reports a violated property by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod access_convert;
pub mod access_rules;
pub mod access_scope;
pub mod access_token;
pub mod agent_reply;
pub mod byte_range;
pub mod cedar_policies;
pub mod chunked_body;
pub mod client_hello;
pub mod config;
pub mod dav_xml;
pub mod destination;
pub mod expression;
pub mod if_header;
pub mod proxy_header;
pub mod redis_reply;
pub mod request_head;
pub mod request_path;
pub mod response_head;
pub mod storage_files;
pub mod third_party;
pub mod token_requests;
pub mod upload_headers;

/// Runs a target on one input.
pub type Target = fn(&[u8]);

/// All targets by name. A target's module, its program in Cargo.toml and its directory in corpus/ have the
/// same name.
pub const TARGETS: &[(&str, Target)] = &[
    ("request_head", request_head::run),
    ("request_path", request_path::run),
    ("response_head", response_head::run),
    ("chunked_body", chunked_body::run),
    ("expression", expression::run),
    ("proxy_header", proxy_header::run),
    ("agent_reply", agent_reply::run),
    ("redis_reply", redis_reply::run),
    ("client_hello", client_hello::run),
    ("config", config::run),
    ("dav_xml", dav_xml::run),
    ("if_header", if_header::run),
    ("byte_range", byte_range::run),
    ("destination", destination::run),
    ("third_party", third_party::run),
    ("access_token", access_token::run),
    ("access_scope", access_scope::run),
    ("token_requests", token_requests::run),
    ("access_rules", access_rules::run),
    ("cedar_policies", cedar_policies::run),
    ("access_convert", access_convert::run),
    ("storage_files", storage_files::run),
    ("upload_headers", upload_headers::run),
];

/// Returns the input up to its first byte that is not UTF-8, for targets that take text.
fn text_of(data: &[u8]) -> &str {
    match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&data[..error.valid_up_to()]).unwrap_or_default(),
    }
}
