//! The texts of a config, and positions in them.

use std::ops::Range;

/// One file of the config, already read by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Name in error messages, usually the path.
    pub name: String,
    /// Content of the file.
    pub text: String,
}

impl Source {
    /// Returns a source with this name in error messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// A range of bytes in one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    pub(crate) file: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A value with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// A map from bytes to lines and columns. Its construction scans each text once; a lookup is a binary search.
pub(crate) struct SourceMap<'a> {
    sources: &'a [Source],
    line_starts: Vec<Vec<u32>>,
}

/// A line of a source, with the marked part.
pub(crate) struct Excerpt<'a> {
    pub(crate) file: &'a str,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Text of the line, without the line break.
    pub(crate) text: &'a str,
    /// Marked bytes of `text`, cut at the end of the first line.
    pub(crate) meant: Range<usize>,
}

impl Span {
    pub(crate) fn new(file: usize, range: Range<usize>) -> Self {
        // Sources are limited to far less than 4 GiB before they are parsed.
        let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file: clip(file), start: clip(range.start), end: clip(range.end) }
    }

    /// Returns a part of the span. `part` counts bytes from the start of the span.
    pub(crate) fn within(self, part: Range<usize>) -> Self {
        let start = self.start as usize;
        Self::new(self.file as usize, start + part.start..start + part.end)
    }
}

impl<'a> SourceMap<'a> {
    pub(crate) fn new(sources: &'a [Source]) -> Self {
        let starts = |source: &Source| {
            let breaks = source.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(breaks.filter_map(|(at, _)| u32::try_from(at + 1).ok())).collect()
        };
        Self { sources, line_starts: sources.iter().map(starts).collect() }
    }

    /// Returns the text of a span.
    pub(crate) fn text(&self, span: Span) -> Option<&'a str> {
        self.sources.get(span.file as usize)?.text.get(span.start as usize..span.end as usize)
    }

    /// Returns the position as `file:line`.
    pub(crate) fn origin(&self, span: Span) -> String {
        match self.excerpt(span) {
            Some(excerpt) => format!("{}:{}", excerpt.file, excerpt.line),
            None => String::new(),
        }
    }

    /// Returns the first line of a span.
    pub(crate) fn excerpt(&self, span: Span) -> Option<Excerpt<'a>> {
        let source = self.sources.get(span.file as usize)?;
        let starts = self.line_starts.get(span.file as usize)?;
        let line = starts.partition_point(|start| *start <= span.start);
        let start = *starts.get(line.checked_sub(1)?)? as usize;
        let text = source.text.get(start..)?;
        let text = text.find('\n').map_or(text, |end| &text[..end]);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let clip = |at: u32| {
            let mut at = (at as usize).saturating_sub(start).min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let meant = clip(span.start)..clip(span.end.max(span.start));
        Some(Excerpt { file: &source.name, line, text, meant })
    }
}
