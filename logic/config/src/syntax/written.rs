//! Finds a part of a text in the source, where the text has quotes and escapes of TOML.

use std::ops::Range;

use super::source::{SourceMap, Span};

/// Returns the position of a part of `text`, if `whole` is the position of the text. Returns `whole` if the
/// part is empty, or if an environment variable has changed the text.
pub(crate) fn part(map: &SourceMap<'_>, whole: Span, text: &str, part: Range<usize>) -> Span {
    if part.is_empty() {
        return whole;
    }
    let place = |literal: &str| {
        let read = decode(literal)?;
        if !read.iter().map(|(_, c)| *c).eq(text.chars()) {
            return None;
        }
        let first = text.get(..part.start)?.chars().count();
        let count = text.get(part)?.chars().count();
        let (start, _) = read.get(first)?;
        let (end, _) = read.get((first + count).checked_sub(1)?)?;
        Some(start.start..end.end)
    };
    map.text(whole).and_then(place).map_or(whole, |place| whole.within(place))
}

/// Returns the characters of a TOML string (TOML 1.0, "String"), each with the bytes of `literal` that encode
/// it.
fn decode(literal: &str) -> Option<Vec<(Range<usize>, char)>> {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quote = quotes.into_iter().find(|quote| literal.starts_with(quote))?;
    let end = literal.len().checked_sub(quote.len()).filter(|end| *end >= quote.len())?;
    let has_escapes = quote.starts_with('"');
    let mut at = quote.len();
    if quote.len() > 1 {
        at += line_break(literal.get(at..end)?);
    }
    let mut characters = Vec::new();
    while at < end {
        let rest = literal.get(at..end)?;
        let c = rest.chars().next()?;
        let (length, meant) = if c == '\\' && has_escapes {
            let (length, meant) = escape(rest.get(1..)?)?;
            (1 + length, meant)
        } else {
            (c.len_utf8(), Some(c))
        };
        characters.extend(meant.map(|meant| (at..at + length, meant)));
        at += length;
    }
    Some(characters)
}

/// Returns the length of an escape after its backslash, in bytes, and the character that it encodes. The
/// character is `None` for an escaped line break.
fn escape(rest: &str) -> Option<(usize, Option<char>)> {
    let number = |digits: usize| {
        let value = u32::from_str_radix(rest.get(1..1 + digits)?, 16).ok()?;
        Some((1 + digits, Some(char::from_u32(value)?)))
    };
    let one = |c| Some((1, Some(c)));
    match rest.chars().next()? {
        'b' => one('\u{8}'),
        't' => one('\t'),
        'n' => one('\n'),
        'f' => one('\u{c}'),
        'r' => one('\r'),
        'e' => one('\u{1b}'),
        c @ ('"' | '\\') => one(c),
        'x' => number(2),
        'u' => number(4),
        'U' => number(8),
        ' ' | '\t' | '\r' | '\n' => {
            let after = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            Some((rest.len() - after.len(), None))
        }
        _ => None,
    }
}

/// Returns the length of a line break at the start of a text, in bytes.
fn line_break(text: &str) -> usize {
    match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::source::Source;

    /// Returns the source text of the part `wanted` of a value.
    fn written(value: &str, wanted: &str) -> String {
        let text = format!("k = {value}\n");
        let table: toml::Table = text.parse().unwrap();
        let read = table["k"].as_str().unwrap();
        let sources = [Source::new("a", text.as_str())];
        let map = SourceMap::new(&sources);
        let at = read.find(wanted).unwrap();
        let span = part(&map, Span::new(0, 4..text.len() - 1), read, at..at + wanted.len());
        text[span.start as usize..span.end as usize].to_owned()
    }

    #[test]
    fn a_part_is_found_in_every_kind_of_string() {
        assert_eq!(written(r#"'a "b" c'"#, r#""b""#), r#""b""#);
        assert_eq!(written(r#""a \"b\" c""#, r#""b""#), r#"\"b\""#);
        assert_eq!(written(r#""\u00e9\t\\ b é""#, "b"), "b");
        assert_eq!(written(r#""\u00e9\t\\ b é""#, "é"), r"\u00e9");
        assert_eq!(written("'''\na\nb'''", "b"), "b");
        assert_eq!(written("\"\"\"\r\na\r\nb \\\n   c\"\"\"", "c"), "c");
        assert_eq!(written("\"\"\"a\"\"\"", "a"), "a");
    }

    #[test]
    fn a_text_that_a_variable_has_changed_is_meant_as_a_whole() {
        let sources = [Source::new("a", "k = '${A} b'")];
        let map = SourceMap::new(&sources);
        let whole = Span::new(0, 4..12);
        assert_eq!(part(&map, whole, "x b", 2..3), whole);
        assert_eq!(part(&map, whole, "${A} b", 5..6), Span::new(0, 10..11));
        assert_eq!(part(&map, whole, "${A} b", 0..0), whole);
    }
}
