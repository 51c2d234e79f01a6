use super::{KnownHeader, Span};
use crate::HeadLimits;

/// The header lines of one head. Reusable storage: keep one per worker; a parse clears it first, and after the first
/// few heads nothing is allocated.
#[derive(Debug)]
pub struct HeaderTable {
    entries: Vec<HeaderEntry>,
    /// Which known headers are there, as bits.
    seen: u64,
    /// Which known headers have more than one line.
    repeated: u64,
    /// For each known header that was seen, the index of its last line. Not cleared: `seen` says what counts.
    last: [u8; 64],
}

/// One header line. `name: value CR LF`, the value without whitespace around it.
#[derive(Debug, Clone, Copy)]
pub struct HeaderEntry {
    line_start: u32,
    line_end: u32,
    value_start: u32,
    value_end: u32,
    name_bytes: u32,
    known: KnownHeader,
}

// An index of a line is a byte: one that came round would name another line, and the length of a body is read from there.
const _: () = assert!(HeadLimits::HEADERS_CEILING <= 1 << u8::BITS);

impl HeaderTable {
    /// Storage for a usual number of lines; grows to at most [`crate::HeadLimits::HEADERS_CEILING`] or the configured
    /// limit.
    pub fn new() -> Self {
        Self { entries: Vec::with_capacity(64), seen: 0, repeated: 0, last: [0; 64] }
    }

    /// Of no lines, and without storage for any.
    pub(crate) const fn without_lines() -> Self {
        Self { entries: Vec::new(), seen: 0, repeated: 0, last: [0; 64] }
    }

    /// The lines in the order they came.
    pub fn entries(&self) -> &[HeaderEntry] {
        &self.entries
    }

    /// The first line of a known name. `Other` finds nothing.
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

    /// Every line of a known name. `Other` finds nothing.
    pub fn all(&self, known: KnownHeader) -> impl Iterator<Item = &HeaderEntry> {
        let entries = if self.has(known) { &self.entries[..] } else { &[] };
        entries.iter().filter(move |entry| entry.known == known)
    }

    /// Whether a known name has more than one line.
    #[inline]
    pub(super) fn repeats(&self, known: KnownHeader) -> bool {
        self.repeated & known.bit() != 0
    }

    /// Every line of a name, in any case.
    pub fn named<'a>(&'a self, buf: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a HeaderEntry> {
        self.entries.iter().filter(move |entry| entry.name().of(buf).eq_ignore_ascii_case(name))
    }

    /// Whether a line of a known name is there.
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

    /// The name as it was written.
    #[inline]
    pub fn name(&self) -> Span {
        Span { start: self.line_start, end: self.line_start + self.name_bytes }
    }

    /// The value, without whitespace around it.
    #[inline]
    pub fn value(&self) -> Span {
        Span { start: self.value_start, end: self.value_end }
    }

    /// The whole line with its CR LF.
    #[inline]
    pub fn line(&self) -> Span {
        Span { start: self.line_start, end: self.line_end }
    }

    /// Returns whether one space and nothing else stands around the value.
    #[inline]
    pub(super) fn is_plain(&self, buf: &[u8]) -> bool {
        let colon = self.line_start + self.name_bytes;
        self.value_start == colon + 2
            && self.value_end + 2 == self.line_end
            && buf.get(colon as usize + 1) == Some(&b' ')
    }

    /// Which name it is.
    #[inline]
    pub fn known(&self) -> KnownHeader {
        self.known
    }
}
