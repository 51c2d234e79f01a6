//! Byte ranges (RFC 9110 section 14): the ranges of a GET, the position of a partial PUT or PATCH, and
//! multipart responses.

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
