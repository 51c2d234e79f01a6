//! What the client prefers (RFC 9110 section 12.5): the form of a directory listing, the coding of a file.

mod encoding;
mod listing;

pub use encoding::Coding;
pub use listing::Listing;
