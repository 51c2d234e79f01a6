//! XML without the meaning that WebDAV gives to it: a reader with limits, names, and pieces of documents.

pub(crate) mod chars;
pub(crate) mod decode;
mod error;
pub(crate) mod escape;
pub(crate) mod fragment;
mod limits;
mod name;
pub(crate) mod reader;
pub(crate) mod scope;

pub use error::XmlError;
pub use fragment::Fragment;
pub use limits::XmlLimits;
pub use name::PropName;

/// Namespace of WebDAV's own elements (RFC 4918 section 21.1).
pub const DAV: &str = "DAV:";
