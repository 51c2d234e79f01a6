//! The parser of the If header.

use super::{Condition, Group, IfHeader, IfHeaderError, Test};
use crate::etag::EntityTag;
use crate::header::LockToken;
use crate::text::is_space;

impl IfHeader {
    /// Parses the value of the header.
    pub fn parse(text: &[u8]) -> Result<Self, IfHeaderError> {
        let mut reader = Reader { rest: text, conditions: 0 };
        let mut groups: Vec<Group> = Vec::new();
        while let Some(byte) = reader.peek() {
            match (byte, groups.last_mut()) {
                (b'<', Some(Group { tag: None, .. })) => return Err(IfHeaderError::Mixed),
                (b'<', _) => {
                    let tag = reader.bracketed()?;
                    if reader.peek() != Some(b'(') {
                        return Err(IfHeaderError::Malformed);
                    }
                    groups.push(Group { tag: Some(tag.into()), lists: Vec::new() });
                }
                (b'(', Some(group)) => group.lists.push(reader.list()?),
                (b'(', None) => groups.push(Group { tag: None, lists: vec![reader.list()?] }),
                _ => return Err(IfHeaderError::Malformed),
            }
        }
        if groups.is_empty() { Err(IfHeaderError::Malformed) } else { Ok(Self { groups }) }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    conditions: usize,
}

impl<'a> Reader<'a> {
    /// Skips whitespace and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let start = self.rest.iter().position(|byte| !is_space(*byte)).unwrap_or(self.rest.len());
        self.rest = &self.rest[start..];
        self.rest.first().copied()
    }

    fn take(&mut self, prefix: &[u8]) -> bool {
        let after = self.rest.strip_prefix(prefix);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Consumes `<...>` and returns the content, which has no whitespace and no control bytes.
    fn bracketed(&mut self) -> Result<&'a [u8], IfHeaderError> {
        let end = self.rest.iter().position(|byte| *byte == b'>').ok_or(IfHeaderError::Malformed)?;
        let inner = self.rest.get(1..end).unwrap_or_default();
        self.rest = &self.rest[end + 1..];
        let sound =
            !inner.is_empty() && inner.iter().all(|byte| *byte > b' ' && *byte != b'<' && *byte != 0x7f);
        if sound { Ok(inner) } else { Err(IfHeaderError::Malformed) }
    }

    fn list(&mut self) -> Result<Vec<Condition>, IfHeaderError> {
        let mut conditions = Vec::new();
        self.take(b"(");
        while self.peek() != Some(b')') {
            self.conditions += 1;
            if self.conditions > IfHeader::CONDITIONS_MAX {
                return Err(IfHeaderError::TooMany);
            }
            conditions.push(self.condition()?);
        }
        self.take(b")");
        if conditions.is_empty() { Err(IfHeaderError::Malformed) } else { Ok(conditions) }
    }

    fn condition(&mut self) -> Result<Condition, IfHeaderError> {
        let negated = match self.rest.split_first_chunk::<3>() {
            Some((word, rest)) if word.eq_ignore_ascii_case(b"Not") => {
                self.rest = rest;
                true
            }
            _ => false,
        };
        let test = match self.peek() {
            Some(b'<') => {
                let uri = self.bracketed()?;
                Test::Token(LockToken::from_uri(uri).ok_or(IfHeaderError::Malformed)?)
            }
            Some(b'[') => Test::Etag(self.etag()?),
            _ => return Err(IfHeaderError::Malformed),
        };
        Ok(Condition { negated, test })
    }

    fn etag(&mut self) -> Result<EntityTag, IfHeaderError> {
        self.take(b"[");
        self.peek();
        let (tag, rest) = EntityTag::parse_start(self.rest).ok_or(IfHeaderError::Malformed)?;
        self.rest = rest;
        self.peek();
        if self.take(b"]") { Ok(tag) } else { Err(IfHeaderError::Malformed) }
    }
}
