//! The XML of WebDAV (RFC 4918 sections 8.2, 9 and 14): parses request bodies within limits and writes
//! response bodies.

mod chars;
mod condition;
mod decode;
mod error;
mod escape;
mod fragment;
mod limits;
mod live;
mod lock_info;
mod locks;
mod multistatus;
mod name;
mod propfind;
mod proppatch;
mod reader;
mod scope;
#[cfg(test)]
mod tests;
mod win32;

pub use condition::Condition;
pub use error::XmlError;
pub use fragment::Fragment;
pub use limits::XmlLimits;
pub use live::{LiveProperty, Property};
pub use lock_info::LockInfo;
pub use locks::write_lock_answer;
pub use multistatus::{CONTENT_TYPE, Multistatus, Response};
pub use name::PropName;
pub use propfind::Propfind;
pub use proppatch::{PropertyUpdate, parse_proppatch};
pub use win32::{BadWin32Time, win32_modified_s};

/// Namespace of WebDAV's own elements (RFC 4918 section 21.1).
pub const DAV: &str = "DAV:";
