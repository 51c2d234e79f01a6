//! The framing of multipart/byteranges bodies.

use super::{ByteRange, ContentRange};

/// The framing of a multipart/byteranges body (RFC 9110 section 14.6): the bytes before each part and after
/// the last. The length of the whole body is known before the first byte is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multipart<'a> {
    boundary: String,
    content_type: &'a str,
    complete_bytes: u64,
}

impl<'a> Multipart<'a> {
    /// Creates the framing for a file of `complete_bytes`. `random` makes the boundary: because of its 128
    /// random bits, no file can be made to contain it. `content_type` is the type of the file; empty = none.
    pub fn new(random: u128, content_type: &'a str, complete_bytes: u64) -> Self {
        Self { boundary: format!("weir-{random:032x}"), content_type, complete_bytes }
    }

    /// Returns the Content-Type of the response.
    pub fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// Returns the bytes to send before the content of `range`. `first`: true for the first part.
    pub fn part_head(&self, range: ByteRange, first: bool) -> String {
        let line_end = if first { "" } else { "\r\n" };
        let complete_bytes = Some(self.complete_bytes);
        let content_range = ContentRange::Part { range, complete_bytes };
        let content_type = match self.content_type {
            "" => String::new(),
            content_type => format!("Content-Type: {content_type}\r\n"),
        };
        let boundary = &self.boundary;
        format!("{line_end}--{boundary}\r\n{content_type}Content-Range: {content_range}\r\n\r\n")
    }

    /// Returns the bytes to send after the last part.
    pub fn end(&self) -> String {
        format!("\r\n--{}--\r\n", self.boundary)
    }

    /// Returns the Content-Length of a response with these parts, framing included. `None` if it does not fit
    /// into `u64`.
    pub fn total_bytes(&self, parts: &[ByteRange]) -> Option<u64> {
        let end = self.end().len() as u64;
        parts.iter().enumerate().try_fold(end, |total, (at, range)| {
            let head = self.part_head(*range, at == 0).len() as u64;
            total.checked_add(head)?.checked_add(range.bytes())
        })
    }
}
