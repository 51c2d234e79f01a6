//! Content negotiation (RFC 9110 section 12.5): the format of a directory listing and the coding of a file.

mod encoding;
mod listing;

pub use encoding::Coding;
pub use listing::Listing;
