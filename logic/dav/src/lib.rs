//! File serving and WebDAV as pure decisions and text (RFC 9110, RFC 4918): parses requests, evaluates
//! conditions and locks, and writes responses.
//!
//! Works on bytes that the caller has read and on facts that the caller has looked up, without files, sockets
//! or a clock. Access control is not part of this crate.

pub mod conditional;
pub mod date;
pub mod digest;
pub mod etag;
pub mod header;
pub mod if_header;
pub mod lock;
mod markup;
pub mod method;
pub mod mime;
pub mod negotiate;
pub mod outcome;
pub mod path;
pub mod range;
pub mod resumable;
mod text;
pub mod third_party;
pub mod xml;
