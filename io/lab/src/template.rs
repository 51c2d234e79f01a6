//! Text with placeholders for the number of a request.

use std::io::Write;

/// Text in which `{i}` stands for the number of the request, from 0, and `{i%100}` for its remainder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Number { modulus: u64 },
}

impl Template {
    /// Parses a template. Text that is not a valid placeholder stays unchanged, because JSON contains braces,
    /// too.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut parts = Vec::new();
        let mut plain = Vec::new();
        let mut rest = text;
        while let Some((byte, after)) = rest.split_first() {
            match placeholder(rest) {
                Some((modulus, bytes)) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Number { modulus });
                    rest = &rest[bytes..];
                }
                None => {
                    plain.push(*byte);
                    rest = after;
                }
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Self { parts }
    }

    /// Appends the text to `out` with this number.
    pub(crate) fn render(&self, number: u64, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                // Writing into memory cannot fail.
                Part::Number { modulus } => drop(write!(out, "{}", number % modulus)),
            }
        }
    }
}

/// Returns the modulus and the length of the placeholder at the start of `text`.
fn placeholder(text: &[u8]) -> Option<(u64, usize)> {
    let rest = text.strip_prefix(b"{i")?;
    let end = rest.iter().take(24).position(|byte| *byte == b'}')?;
    let modulus = match rest.get(..end)? {
        [] => u64::MAX,
        [b'%', digits @ ..] => {
            std::str::from_utf8(digits).ok()?.parse().ok().filter(|modulus| *modulus > 0)?
        }
        _ => return None,
    };
    Some((modulus, end + 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, number: u64) -> String {
        let mut out = Vec::new();
        Template::parse(text.as_bytes()).render(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_number_of_the_request_takes_the_placeholders_place() {
        assert_eq!(rendered("/file-{i}?x={i%10}", 123), "/file-123?x=3");
        assert_eq!(rendered("/plain", 5), "/plain");
    }

    #[test]
    fn other_braces_stay() {
        for text in ["{\"a\":1}", "{i%0}", "{i", "{name}", "{i%}"] {
            assert_eq!(rendered(text, 5), text);
        }
    }
}
