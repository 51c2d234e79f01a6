use super::{ByteRange, ContentRange};

/// The framing of a multipart/byteranges body (RFC 9110 section 14.6): what to send before each part and after the last,
/// and how long everything will be, known before the first byte goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multipart<'a> {
    boundary: String,
    content_type: &'a str,
    complete_bytes: u64,
}

impl<'a> Multipart<'a> {
    /// Of a file of `complete_bytes`. `random` makes the boundary: with 128 random bits nobody can write a file that
    /// contains it. `content_type` is that of the file; empty = none.
    pub fn new(random: u128, content_type: &'a str, complete_bytes: u64) -> Self {
        Self { boundary: format!("weir-{random:032x}"), content_type, complete_bytes }
    }

    /// The Content-Type of the answer.
    pub fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// What goes before the bytes of `range`. `first`: it is the first part.
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

    /// What goes after the last part.
    pub fn end(&self) -> String {
        format!("\r\n--{}--\r\n", self.boundary)
    }

    /// The Content-Length of an answer with these parts: heads, bytes and end. `None` if it does not fit into `u64`.
    pub fn total_bytes(&self, parts: &[ByteRange]) -> Option<u64> {
        let end = self.end().len() as u64;
        parts.iter().enumerate().try_fold(end, |total, (at, range)| {
            let head = self.part_head(*range, at == 0).len() as u64;
            total.checked_add(head)?.checked_add(range.bytes())
        })
    }
}
