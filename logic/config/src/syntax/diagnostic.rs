//! What is wrong with a config, for people ([`std::fmt::Display`]) and for programs ([`serde::Serialize`]).

use std::ops::Range;

use serde::Serialize;

use super::source::{Source, SourceMap, Span};

/// One thing that is wrong or doubtful.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Whether the config can be used all the same.
    pub severity: Severity,
    /// What is wrong, naming the listener, route, pool or server.
    pub message: String,
    /// Where; the first place is the one to be corrected.
    pub places: Vec<Place>,
    /// What to do about it.
    pub help: Option<String>,
}

/// Whether a config can be used in spite of a [`Diagnostic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// No.
    Error,
    /// Yes, but it is hardly meant like this.
    Warning,
}

/// A place in a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The source's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The first character meant, from 1.
    pub column: usize,
    /// The character after the last one meant.
    pub column_end: usize,
    /// What is said of it there; may be empty.
    pub label: String,
    /// The line, or a part of a very long one.
    pub text: String,
    /// Characters of the line in front of `text`.
    #[serde(skip)]
    pub(crate) text_offset: usize,
}

/// A [`Diagnostic`] while spans are still bytes.
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

    /// An error that no place in a source is to blame for.
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, message: message.into(), places: Vec::new(), help: None }
    }

    /// Says something beside the place.
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
    /// About bytes of a text that is no part of the config, such as a file that it names.
    pub fn in_text(severity: Severity, message: String, text: &Source, bytes: Range<usize>) -> Self {
        let map = SourceMap::new(std::slice::from_ref(text));
        let place = place(&map, Span::new(0, bytes), String::new());
        Self { severity, message, places: place.into_iter().collect(), help: None }
    }
}

/// Longer lines are cut, so that a file of one huge line makes no huge message.
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
