//! Selection of the bytes to send by the Range header.

use super::ByteRange;
use crate::text::{elements, number, trim};

/// The response to a GET with a Range header (RFC 9110 section 14.2). Other methods have no ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// 200 with the whole file, because the header is ignored: it is malformed, in another unit than bytes,
    /// or has too many ranges (RFC 9110 sections 14.2 and 17.15).
    Whole,
    /// 206 with one part and Content-Range.
    Single(ByteRange),
    /// 206 multipart/byteranges with at least two parts, which do not overlap.
    Several(Vec<ByteRange>),
    /// 416 with `Content-Range: bytes */length`.
    Unsatisfiable,
}

/// Limits of the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangePolicy {
    /// Maximum of ranges in one header; the server ignores a header with more.
    pub ranges_max: usize,
    /// Largest gap in bytes over which two ranges become one: the framing of another part would be longer
    /// than the gap.
    pub gap_bytes_max: u64,
}

impl Default for RangePolicy {
    fn default() -> Self {
        Self { ranges_max: 64, gap_bytes_max: 120 }
    }
}

impl RangePolicy {
    /// Returns the selection of `header` from a file of `length` bytes. Keeps the order of the header; joined
    /// ranges take the position of the first of them (RFC 9110 section 15.3.7.2).
    pub fn select(&self, header: &[u8], length: u64) -> Selection {
        let Some(specs) = self.parse(header) else { return Selection::Whole };
        if length == 0 && specs.iter().any(|spec| matches!(spec, Spec::Suffix(1..))) {
            // The range is satisfiable by definition, but no Content-Range can express an empty range.
            return Selection::Whole;
        }
        let asked = specs.iter().filter_map(|spec| spec.within(length)).collect();
        match self.coalesce(asked).as_slice() {
            [] => Selection::Unsatisfiable,
            [only] => Selection::Single(*only),
            several => Selection::Several(several.to_vec()),
        }
    }

    /// Parses the ranges of the header. Returns `None` if it is malformed or has more than `ranges_max`.
    fn parse(&self, header: &[u8]) -> Option<Vec<Spec>> {
        let (unit, set) = header.split_at_checked(header.iter().position(|byte| *byte == b'=')?)?;
        if !trim(unit).eq_ignore_ascii_case(b"bytes") {
            return None;
        }
        let mut specs = Vec::new();
        for element in elements(&set[1..]) {
            if specs.len() == self.ranges_max {
                return None;
            }
            specs.push(Spec::parse(element)?);
        }
        (!specs.is_empty()).then_some(specs)
    }

    fn coalesce(&self, asked: Vec<ByteRange>) -> Vec<ByteRange> {
        let mut by_place: Vec<(ByteRange, usize)> =
            asked.into_iter().enumerate().map(|(order, range)| (range, order)).collect();
        by_place.sort_unstable();
        let mut joined: Vec<(ByteRange, usize)> = Vec::with_capacity(by_place.len());
        for (range, order) in by_place {
            match joined.last_mut() {
                Some((before, first_order))
                    if range.first() <= before.end().saturating_add(self.gap_bytes_max) =>
                {
                    let last = before.last().max(range.last());
                    *before = ByteRange::new(before.first(), last).unwrap_or(*before);
                    *first_order = order.min(*first_order);
                }
                _ => joined.push((range, order)),
            }
        }
        joined.sort_unstable_by_key(|(_, order)| *order);
        joined.into_iter().map(|(range, _)| range).collect()
    }
}

/// One range as written by the client (RFC 9110 section 14.1.1).
enum Spec {
    From(u64),
    Between(u64, u64),
    /// The last bytes of the file, in this number.
    Suffix(u64),
}

impl Spec {
    fn parse(text: &[u8]) -> Option<Self> {
        let dash = text.iter().position(|byte| *byte == b'-')?;
        match (&text[..dash], &text[dash + 1..]) {
            (b"", suffix) => Some(Self::Suffix(number(suffix)?)),
            (first, b"") => Some(Self::From(number(first)?)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::Between(first, last))
            }
        }
    }

    /// Returns the range within a file of this length; `None` if they do not overlap.
    fn within(&self, length: u64) -> Option<ByteRange> {
        let end = length.checked_sub(1)?;
        match *self {
            Self::From(first) => ByteRange::new(first, end),
            Self::Between(first, last) => ByteRange::new(first, last.min(end)),
            Self::Suffix(0) => None,
            Self::Suffix(bytes) => ByteRange::new(length.saturating_sub(bytes), end),
        }
    }
}
