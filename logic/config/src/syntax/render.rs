//! Renders diagnostics as text, with the line, a caret and a suggestion.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Level, Renderer, Snippet};

use super::diagnostic::{Diagnostic, Place, Severity};

/// Returns the diagnostic as several lines, without a final line break. `color`: with colors for terminals.
pub fn render(diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let message = printable(&diagnostic.message);
    let texts: Vec<(String, Range<usize>, String)> = diagnostic
        .places
        .iter()
        .map(|place| (printable(&place.text), marked_bytes(place), printable(&place.label)))
        .collect();
    let snippets = diagnostic.places.iter().zip(&texts).enumerate().map(|(index, (place, text))| {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let mut annotation = kind.span(text.1.clone());
        if !text.2.is_empty() {
            annotation = annotation.label(text.2.as_str());
        }
        let snippet = Snippet::source(text.0.as_str()).line_start(place.line).path(place.file.as_str());
        Element::from(snippet.annotation(annotation))
    });
    let help = diagnostic.help.as_deref().map(printable);
    let help = help.as_deref().map(|help| Element::from(Level::HELP.message(help)));
    let group = level.primary_title(message.as_str()).elements(snippets).elements(help);
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// Replaces control characters of a config, so that they do not reach the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' { if c == '\t' { ' ' } else { '\u{fffd}' } } else { c })
        .collect()
}

/// Returns the marked part of [`Place::text`], in bytes of the result of [`printable`].
fn marked_bytes(place: &Place) -> Range<usize> {
    let text = printable(&place.text);
    let byte = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let start = (place.column - 1).saturating_sub(place.text_offset);
    let end = (place.column_end - 1).saturating_sub(place.text_offset);
    byte(start)..byte(end.max(start))
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(self, false))
    }
}
