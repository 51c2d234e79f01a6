//! The If header (RFC 4918 section 10.4): which states of which resources the client takes for granted, and which lock
//! tokens it holds.

mod evaluate;
mod parse;
#[cfg(test)]
mod tests;

pub use evaluate::StateView;

use crate::etag::EntityTag;
use crate::header::LockToken;

/// A well-formed If header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfHeader {
    /// At least one; either a single one without tag, or all have one.
    groups: Vec<Group>,
}

/// Lists about one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    /// The resource's URL or path as written; `None` = the request's target.
    tag: Option<Box<[u8]>>,
    /// At least one, each with at least one condition. One that is true is enough.
    lists: Vec<Vec<Condition>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    negated: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Token(LockToken),
    Etag(EntityTag),
}

/// Why an If header is refused: 400 (RFC 4918 section 8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IfHeaderError {
    /// It does not follow the grammar.
    #[error("a malformed If header (RFC 4918 section 10.4.2)")]
    Malformed,
    /// Lists with and without resource tags in one header.
    #[error("an If header with both tagged and untagged lists (RFC 4918 section 10.4.2)")]
    Mixed,
    /// More than [`IfHeader::CONDITIONS_MAX`].
    #[error("an If header with too many conditions")]
    TooMany,
}

impl IfHeader {
    /// Most conditions in one header.
    pub const CONDITIONS_MAX: usize = 1_024;

    /// The lock tokens in the header, wherever they stand: to name a token is to submit it, whatever its list comes to
    /// (RFC 4918 section 10.4.1).
    pub fn submitted_tokens(&self) -> impl Iterator<Item = &LockToken> {
        let conditions = self.groups.iter().flat_map(|group| group.lists.iter().flatten());
        conditions.filter_map(|condition| match &condition.test {
            Test::Token(token) => Some(token),
            Test::Etag(_) => None,
        })
    }

    /// The only token of a header with a single list of that token alone: how LOCK names the lock to refresh (RFC 4918
    /// section 9.10.2).
    pub fn single_token(&self) -> Option<&LockToken> {
        let mut tokens = self.submitted_tokens();
        let first = tokens.next()?;
        tokens.next().is_none().then_some(first)
    }
}
