//! The XML of WebDAV (RFC 4918 sections 8.2, 9 and 14): parses request bodies within limits and writes
//! response bodies.

mod condition;
mod live;
mod lock_info;
mod locks;
mod multistatus;
mod propfind;
mod proppatch;
#[cfg(test)]
mod tests;
mod win32;

pub use crate::markup::{DAV, Fragment, PropName, XmlError, XmlLimits};
pub use condition::Condition;
pub use live::{LiveProperty, Property};
pub use lock_info::LockInfo;
pub use locks::write_lock_answer;
pub use multistatus::{CONTENT_TYPE, Multistatus, Response};
pub use propfind::Propfind;
pub use proppatch::{PropertyUpdate, parse_proppatch};
pub use win32::{BadWin32Time, win32_modified_s};
