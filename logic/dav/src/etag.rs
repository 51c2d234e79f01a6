//! Entity tags (RFC 9110 section 8.8.3).

use std::fmt;

use crate::text::{is_space, trim};

/// An entity tag: `"abc"` or `W/"abc"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntityTag {
    weak: bool,
    /// Bytes between the quotes: visible ASCII except the quote, or bytes from 0x80.
    opaque: Box<[u8]>,
}

impl EntityTag {
    /// Creates a strong tag. Returns `None` if a byte is not allowed in a tag.
    pub fn strong(opaque: &str) -> Option<Self> {
        Self::of(false, opaque.as_bytes())
    }

    /// Creates a weak tag. Returns `None` if a byte is not allowed in a tag.
    pub fn weak(opaque: &str) -> Option<Self> {
        Self::of(true, opaque.as_bytes())
    }

    fn of(weak: bool, opaque: &[u8]) -> Option<Self> {
        opaque.iter().all(|byte| is_etag_byte(*byte)).then(|| Self { weak, opaque: opaque.into() })
    }

    /// Parses one tag, with optional whitespace around it.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (tag, rest) = Self::parse_start(trim(text))?;
        rest.is_empty().then_some(tag)
    }

    /// Parses the tag at the start of `text` and returns it with the rest.
    pub(crate) fn parse_start(text: &[u8]) -> Option<(Self, &[u8])> {
        // `W/` is case-sensitive (RFC 9110 section 8.8.3).
        let (weak, quoted) = match text.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, text),
        };
        let inner = quoted.strip_prefix(b"\"")?;
        let end = inner.iter().position(|byte| *byte == b'"')?;
        Some((Self::of(weak, &inner[..end])?, &inner[end + 1..]))
    }

    /// Returns true for a weak tag.
    pub fn is_weak(&self) -> bool {
        self.weak
    }

    /// Compares strongly (RFC 9110 section 8.8.3.2): equal, and neither is weak.
    pub fn strong_eq(&self, other: &Self) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Compares weakly (RFC 9110 section 8.8.3.2): equal, whether weak or strong.
    pub fn weak_eq(&self, other: &Self) -> bool {
        self.opaque == other.opaque
    }

    /// Returns the tag in header form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mark: &[u8] = if self.weak { b"W/\"" } else { b"\"" };
        [mark, &self.opaque, b"\""].concat()
    }
}

/// Formats the tag in header form; replaces bytes that are not UTF-8.
impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_bytes()))
    }
}

/// The value of If-Match or If-None-Match (RFC 9110 sections 13.1.1 and 13.1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EtagList {
    /// `*`: any existing resource.
    Any,
    /// At least one tag.
    Tags(Vec<EntityTag>),
}

impl EtagList {
    /// Parses a list; a comma inside a tag is part of the tag. Returns `None` if the list is malformed or
    /// empty.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut rest = trim(text);
        if rest == b"*" {
            return Some(Self::Any);
        }
        let mut tags = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(b",") {
                rest = trim(after);
                continue;
            }
            let (tag, after) = EntityTag::parse_start(rest)?;
            tags.push(tag);
            rest = trim(after);
            if !rest.is_empty() && rest.first() != Some(&b',') {
                return None;
            }
        }
        (!tags.is_empty()).then_some(Self::Tags(tags))
    }

    /// Returns true if the list matches an existing resource with `etag`, by strong comparison.
    pub fn has_strong(&self, etag: Option<&EntityTag>) -> bool {
        self.has(etag, EntityTag::strong_eq)
    }

    /// Returns true if the list matches an existing resource with `etag`, by weak comparison.
    pub fn has_weak(&self, etag: Option<&EntityTag>) -> bool {
        self.has(etag, EntityTag::weak_eq)
    }

    fn has(&self, etag: Option<&EntityTag>, equal: fn(&EntityTag, &EntityTag) -> bool) -> bool {
        match self {
            Self::Any => true,
            Self::Tags(tags) => etag.is_some_and(|etag| tags.iter().any(|tag| equal(tag, etag))),
        }
    }
}

fn is_etag_byte(byte: u8) -> bool {
    !is_space(byte) && byte != b'"' && byte > 0x20 && byte != 0x7f
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tag(text: &str) -> EntityTag {
        EntityTag::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn tags_compare_as_the_table_of_rfc_9110_says() {
        for (a, b, strong, weak) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ] {
            let (a, b) = (tag(a), tag(b));
            assert_eq!((a.strong_eq(&b), a.weak_eq(&b)), (strong, weak), "{a} {b}");
            assert_eq!((b.strong_eq(&a), b.weak_eq(&a)), (strong, weak), "{b} {a}");
        }
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for text in
            ["", "a", "\"a", "a\"", "\"a b\"", "\"a\"b", "w/\"a\"", "W/ \"a\"", "W/a", "\"\u{7f}\"", "'a'"]
        {
            assert_eq!(EntityTag::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(EntityTag::strong("a\"b"), None);
        assert_eq!(tag("\"\"").to_bytes(), b"\"\"");
    }

    #[test]
    fn commas_inside_tags_do_not_end_them() {
        let list = EtagList::parse(b"\"a,b\" ,, W/\"c\",\"d, is no byte of a tag\"");
        assert_eq!(list, None);
        let list = EtagList::parse(b", \"a,b\" ,, W/\"c\",").unwrap();
        assert_eq!(list, EtagList::Tags(vec![tag("\"a,b\""), tag("W/\"c\"")]));
        for text in ["", ",", "*, \"a\"", "\"a\" \"b\"", "\"a\"*", "a"] {
            assert_eq!(EtagList::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(EtagList::parse(b" * "), Some(EtagList::Any));
    }

    proptest! {
        #[test]
        fn a_list_reads_back(tags in prop::collection::vec((any::<bool>(), "[!#-~\u{80}-\u{ff}]{0,8}"), 1..5)) {
            let tags: Vec<_> =
                tags.iter().map(|(weak, text)| EntityTag::of(*weak, text.as_bytes()).unwrap()).collect();
            let text = tags.iter().map(EntityTag::to_bytes).collect::<Vec<_>>().join(&b", "[..]);
            prop_assert_eq!(EtagList::parse(&text), Some(EtagList::Tags(tags)));
        }

        #[test]
        fn any_bytes_get_a_verdict(text in prop::collection::vec(any::<u8>(), 0..20)) {
            let _ = EtagList::parse(&text);
        }
    }
}
