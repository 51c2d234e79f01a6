//! Problems in a config, for readers ([`std::fmt::Display`]) and for programs ([`serde::Serialize`]).

use std::ops::Range;

use serde::Serialize;

use super::source::{Source, SourceMap, Span};

/// One error or warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Severity: errors make the config unusable.
    pub severity: Severity,
    /// Description of the problem, with the name of the listener, route, pool or server.
    pub message: String,
    /// Positions in the sources; the first one is to be corrected.
    pub places: Vec<Place>,
    /// Hint for a correction.
    pub help: Option<String>,
}

/// Severity of a [`Diagnostic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The config cannot be used.
    Error,
    /// The config can be used, but probably contains a mistake.
    Warning,
}

/// A position in a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Name of the source.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Column of the first marked character, from 1.
    pub column: usize,
    /// Column after the last marked character.
    pub column_end: usize,
    /// Text beside the mark; may be empty.
    pub label: String,
    /// Text of the line, or a part of a very long line.
    pub text: String,
    /// Number of characters of the line before `text`.
    #[serde(skip)]
    pub(crate) text_offset: usize,
}

/// A [`Diagnostic`] whose positions are still byte offsets.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) places: Vec<(Span, String)>,
    pub(crate) help: Option<String>,
}

impl Problem {
    pub(crate) fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            places: vec![(span, String::new())],
            help: None,
        }
    }

    pub(crate) fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Returns an error without a position.
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, message: message.into(), places: Vec::new(), help: None }
    }

    /// Sets the text beside the first position.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        if let Some((_, text)) = self.places.first_mut() {
            *text = label.into();
        }
        self
    }

    pub(crate) fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.places.push((span, label.into()));
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn locate(self, map: &SourceMap<'_>) -> Diagnostic {
        let place = |(span, label)| place(map, span, label);
        Diagnostic {
            severity: self.severity,
            message: self.message,
            places: self.places.into_iter().filter_map(place).collect(),
            help: self.help,
        }
    }
}

impl Diagnostic {
    /// Returns a diagnostic about bytes of a text outside of the config, such as a file that it refers to.
    pub fn in_text(severity: Severity, message: String, text: &Source, bytes: Range<usize>) -> Self {
        let map = SourceMap::new(std::slice::from_ref(text));
        let place = place(&map, Span::new(0, bytes), String::new());
        Self { severity, message, places: place.into_iter().collect(), help: None }
    }
}

/// Maximum length of a line in a message; longer lines are cut.
const TEXT_CHARS_MAX: usize = 160;
const TEXT_CHARS_BEFORE: usize = 60;

fn place(map: &SourceMap<'_>, span: Span, label: String) -> Option<Place> {
    let excerpt = map.excerpt(span)?;
    let before = excerpt.text[..excerpt.meant.start].chars().count();
    let meant = excerpt.text[excerpt.meant].chars().count();
    let skipped =
        if excerpt.text.len() > TEXT_CHARS_MAX { before.saturating_sub(TEXT_CHARS_BEFORE) } else { 0 };
    Some(Place {
        file: excerpt.file.to_owned(),
        line: excerpt.line,
        column: before + 1,
        column_end: before + 1 + meant,
        label,
        text: excerpt.text.chars().skip(skipped).take(TEXT_CHARS_MAX).collect(),
        text_offset: skipped,
    })
}
