//! Positions in the text of an expression, from the offsets that the parser records for its nodes.

use std::ops::Range;

use cel::ParseErrors;
use cel::common::ast::SourceInfo;

use super::{ExpressionError, ExpressionFault};

/// Lookup of the position of a node.
pub(super) struct Positions<'a> {
    text: &'a str,
    info: &'a SourceInfo,
}

impl<'a> Positions<'a> {
    pub(super) fn new(text: &'a str, info: &'a SourceInfo) -> Self {
        Self { text, info }
    }

    /// Returns the byte range of a node's own token: an operator, a name or a literal. For a call it is the
    /// function's name, for a field the name after the dot. Returns an empty range if the node has no
    /// position.
    pub(super) fn of(&self, node: u64) -> Range<usize> {
        // The parser counts in bytes and includes the last one.
        let Some((first, last)) = self.info.offset_for(node) else { return 0..0 };
        let start = boundary(self.text, first as usize);
        let end = boundary(self.text, last as usize + 1).max(start);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match &self.text[start..end] {
            "(" => {
                let before = self.text[..start].trim_end();
                let name = before.trim_end_matches(is_of_name).len()..before.len();
                if name.is_empty() { start..end } else { name }
            }
            "." => {
                let after = &self.text[end..];
                start..end + after.len() - after.trim_start_matches(is_of_name).len()
            }
            _ => start..end,
        }
    }
}

/// Moves a byte offset inside a character to the end of the character.
fn boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}

/// Returns the parser's messages, with the position of the first one.
pub(super) fn of_syntax(text: &str, errors: &ParseErrors) -> ExpressionError {
    let messages: Vec<&str> = errors.errors.iter().map(|error| error.msg.as_str()).collect();
    let fault = ExpressionFault::Syntax(messages.join("; "));
    // Lines and columns count from 1; (0, 0) means no position.
    let place = errors.errors.first().map(|error| error.pos).and_then(|(line, column)| {
        Some((usize::try_from(line).ok()?.checked_sub(1)?, usize::try_from(column).ok()?.checked_sub(1)?))
    });
    let at = place.and_then(|(line, column)| {
        let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let start = before + byte_at(text.get(before..)?, column);
        let length = text.get(start..)?.chars().next().map_or(0, char::len_utf8);
        Some(start..start + length)
    });
    ExpressionError { fault, at: at.unwrap_or(0..0) }
}

fn byte_at(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}
