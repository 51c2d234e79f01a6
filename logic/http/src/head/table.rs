//! The header lines of one head.

use super::{KnownHeader, Span};
use crate::HeadLimits;

/// The header lines of one head. The storage is reusable: keep one table for each worker. A parse clears the
/// table first, and allocates nothing after the first few heads.
#[derive(Debug)]
pub struct HeaderTable {
    entries: Vec<HeaderEntry>,
    /// Known headers that occur, as a set.
    seen: u64,
    /// Known headers with more than one line, as a set.
    repeated: u64,
    /// Index of the last line of each known header. Not cleared: only the entries of headers in `seen` are
    /// valid.
    last: [u8; 64],
}

/// One header line: `name: value CR LF`, with the value trimmed.
#[derive(Debug, Clone, Copy)]
pub struct HeaderEntry {
    line_start: u32,
    line_end: u32,
    value_start: u32,
    value_end: u32,
    name_bytes: u32,
    known: KnownHeader,
}

// An index is a byte. If it wrapped around, it would refer to another line, and the length of a body is read
// through it.
const _: () = assert!(HeadLimits::HEADERS_CEILING <= 1 << u8::BITS);

impl HeaderTable {
    /// Creates a table with space for a typical number of lines. It grows up to the configured limit, at most
    /// [`crate::HeadLimits::HEADERS_CEILING`].
    pub fn new() -> Self {
        Self { entries: Vec::with_capacity(64), seen: 0, repeated: 0, last: [0; 64] }
    }

    /// Creates a table without lines and without storage for any.
    pub(crate) const fn without_lines() -> Self {
        Self { entries: Vec::new(), seen: 0, repeated: 0, last: [0; 64] }
    }

    /// Returns the lines in the order of arrival.
    pub fn entries(&self) -> &[HeaderEntry] {
        &self.entries
    }

    /// Returns the first line of a known header; none for `Other`.
    #[inline]
    pub fn find(&self, known: KnownHeader) -> Option<&HeaderEntry> {
        if !self.has(known) {
            return None;
        }
        if self.repeated & known.bit() == 0 {
            return self.entries.get(usize::from(self.last[known as usize]));
        }
        self.entries.iter().find(|entry| entry.known == known)
    }

    /// Returns every line of a known header; none for `Other`.
    pub fn all(&self, known: KnownHeader) -> impl Iterator<Item = &HeaderEntry> {
        let entries = if self.has(known) { &self.entries[..] } else { &[] };
        entries.iter().filter(move |entry| entry.known == known)
    }

    /// Returns true if a known header has more than one line.
    #[inline]
    pub(super) fn repeats(&self, known: KnownHeader) -> bool {
        self.repeated & known.bit() != 0
    }

    /// Returns every line with a name, in any case.
    pub fn named<'a>(&'a self, buf: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a HeaderEntry> {
        self.entries.iter().filter(move |entry| entry.name().of(buf).eq_ignore_ascii_case(name))
    }

    /// Returns true if a known header has a line.
    #[inline]
    pub fn has(&self, known: KnownHeader) -> bool {
        self.has_any(known.bit() & !KnownHeader::Other.bit())
    }

    #[inline]
    pub(crate) fn has_any(&self, of: u64) -> bool {
        self.seen & of != 0
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.seen = 0;
        self.repeated = 0;
    }

    #[inline]
    pub(super) fn push(&mut self, entry: HeaderEntry) {
        let bit = entry.known.bit();
        self.repeated |= self.seen & bit;
        self.seen |= bit;
        self.last[entry.known as usize & 63] = self.entries.len() as u8;
        self.entries.push(entry);
    }
}

impl Default for HeaderTable {
    fn default() -> Self {
        Self::new()
    }
}

impl HeaderEntry {
    #[inline]
    pub(super) fn new(name: Span, value: Span, line_end: usize, known: KnownHeader) -> Self {
        Self {
            line_start: name.start,
            line_end: line_end as u32,
            value_start: value.start,
            value_end: value.end,
            name_bytes: name.end - name.start,
            known,
        }
    }

    /// Returns the name as written.
    #[inline]
    pub fn name(&self) -> Span {
        Span { start: self.line_start, end: self.line_start + self.name_bytes }
    }

    /// Returns the value without surrounding whitespace.
    #[inline]
    pub fn value(&self) -> Span {
        Span { start: self.value_start, end: self.value_end }
    }

    /// Returns the whole line with its CR LF.
    #[inline]
    pub fn line(&self) -> Span {
        Span { start: self.line_start, end: self.line_end }
    }

    /// Returns true if the only whitespace around the value is one space before it.
    #[inline]
    pub(super) fn is_plain(&self, buf: &[u8]) -> bool {
        let colon = self.line_start + self.name_bytes;
        self.value_start == colon + 2
            && self.value_end + 2 == self.line_end
            && buf.get(colon as usize + 1) == Some(&b' ')
    }

    /// Returns the known header, or `Other`.
    #[inline]
    pub fn known(&self) -> KnownHeader {
        self.known
    }
}
