//! Java properties files, parsed like `java.util.Properties.load`: comments, continuation lines, escapes, and
//! the three ways to end a key.

use std::fmt;

/// The entries of a file, in their order. A repeated key replaces the earlier entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Properties {
    entries: Vec<Property>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// Key of the entry.
    pub key: String,
    /// Value of the entry.
    pub value: String,
    /// First line of the entry, from 1.
    pub line: usize,
}

/// An invalid escape: `\u` without four hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PropertiesError {
    /// Line number, from 1.
    pub line: usize,
}

impl Properties {
    /// Parses a file.
    ///
    /// # Errors
    /// If an escape is invalid, which Java rejects too.
    pub fn parse(text: &str) -> Result<Self, PropertiesError> {
        let mut properties = Self::default();
        let mut lines = natural_lines(text).into_iter().enumerate();
        while let Some((at, first)) = lines.next() {
            let start = first.trim_start_matches(BLANKS);
            if start.is_empty() || start.starts_with(['#', '!']) {
                continue;
            }
            let mut logical = start.to_owned();
            while ends_in_continuation(&logical) {
                logical.pop();
                let Some((_, next)) = lines.next() else { break };
                logical.push_str(next.trim_start_matches(BLANKS));
            }
            let line = at + 1;
            let (key, value) = split(&logical);
            let (key, value) = (unescape(key, line)?, unescape(value, line)?);
            properties.entries.retain(|entry| entry.key != key);
            properties.entries.push(Property { key, value, line });
        }
        Ok(properties)
    }

    /// Returns the entries, in the order of their lines.
    pub fn entries(&self) -> &[Property] {
        &self.entries
    }

    /// Returns the entry of a key.
    pub fn get(&self, key: &str) -> Option<&Property> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

/// Splits a text into lines, which end with LF, CR or CR LF.
fn natural_lines(text: &str) -> Vec<&str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')).collect()
}

/// Returns true if the line ends with an odd number of backslashes.
fn ends_in_continuation(line: &str) -> bool {
    line.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

/// Splits a line into key and value. The key ends at the first unescaped `=`, `:` or blank. Blanks and one
/// `=` or `:` separate it from the value.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && (matches!(c, '=' | ':') || BLANKS.contains(&c));
        escaped = c == '\\' && !escaped;
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(BLANKS);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim_start_matches(BLANKS))
}

fn unescape(text: &str, line: usize) -> Result<String, PropertiesError> {
    // Java's characters are UTF-16 units, so a character beyond them comes as two escapes.
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                None => break,
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let hex = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                    let unit = if hex { u16::from_str_radix(&digits, 16).ok() } else { None };
                    units.push(unit.ok_or(PropertiesError { line })?);
                    continue;
                }
                Some(other) => other,
            },
            other => other,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    Ok(String::from_utf16_lossy(&units))
}

impl fmt::Display for PropertiesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: \\u without four hexadecimal digits", self.line)
    }
}

impl std::error::Error for PropertiesError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_values_and_comments_are_told_apart_as_java_does() {
        let text = "# c = 1\n ! d\na=1\nb : 2\nc 3\n  d   =  4 \ne\nf\\=g=h\\:i\n\nx\\ y = \\u00e9\\t\\\\z\n\\ud83d\\ude00=\\q";
        let read = Properties::parse(text).unwrap();
        let pairs: Vec<_> =
            read.entries().iter().map(|e| (e.key.as_str(), e.value.as_str(), e.line)).collect();
        let expected = [
            ("a", "1", 3),
            ("b", "2", 4),
            ("c", "3", 5),
            ("d", "4 ", 6),
            ("e", "", 7),
            ("f=g", "h:i", 8),
            ("x y", "é\t\\z", 10),
            ("\u{1f600}", "q", 11),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_line_goes_on_after_an_odd_number_of_backslashes() {
        let read = Properties::parse("a = b,\\\r\n    c\\\\\r\nd = e\\\n# no comment\nf = \\").unwrap();
        assert_eq!(read.get("a").unwrap().value, "b,c\\");
        assert_eq!(read.get("d").map(|e| (e.value.as_str(), e.line)), Some(("e# no comment", 3)));
        assert_eq!(read.get("f").unwrap().value, "");
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let read = Properties::parse("a=1\nb=2\na=3").unwrap();
        assert_eq!((read.entries().len(), read.get("a").unwrap().line), (2, 3));
    }

    #[test]
    fn an_escape_that_is_none_is_an_error() {
        assert_eq!(Properties::parse("\na=\\u00g0"), Err(PropertiesError { line: 2 }));
        assert_eq!(Properties::parse("a=\\u12"), Err(PropertiesError { line: 1 }));
        assert_eq!(Properties::parse("a=\\u+123"), Err(PropertiesError { line: 1 }));
    }
}
