//! Byte ranges (RFC 9110 section 14): which parts of a file a GET asks for, which part a PUT or PATCH brings, and the framing of an
//! answer with several parts.

mod byte_range;
mod content_range;
mod multipart;
mod position;
mod select;
#[cfg(test)]
mod tests;

pub use byte_range::ByteRange;
pub use content_range::{ContentRange, ContentRangeError};
pub use multipart::Multipart;
pub use position::{PARTIAL_UPDATE, Position, UpdateRangeError};
pub use select::{RangePolicy, Selection};
