//! File serving and WebDAV as decisions and text (RFC 9110, RFC 4918): what a request asks for, whether it may be done, what
//! the answer says.
//!
//! Works on bytes that the caller has read and on facts that the caller looked up: no files, no sockets, no clock. Who may
//! do something is not decided here.

pub mod conditional;
pub mod date;
pub mod digest;
pub mod etag;
pub mod header;
pub mod if_header;
pub mod lock;
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
