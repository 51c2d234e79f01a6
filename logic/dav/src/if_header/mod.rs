//! The If header (RFC 4918 section 10.4): the resource states that the client requires, and the lock tokens
//! that it submits.

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
    /// At least one group: either a single group without a tag, or only groups with a tag.
    groups: Vec<Group>,
}

/// Lists that apply to one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    /// URL or path of the resource as written; `None` = the request's target.
    tag: Option<Box<[u8]>>,
    /// At least one list, each with at least one condition. One true list is enough.
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

/// The reason to refuse an If header with 400 (RFC 4918 section 8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IfHeaderError {
    /// The header does not follow the grammar.
    #[error("a malformed If header (RFC 4918 section 10.4.2)")]
    Malformed,
    /// The header has lists both with and without resource tags.
    #[error("an If header with both tagged and untagged lists (RFC 4918 section 10.4.2)")]
    Mixed,
    /// The header has more than [`IfHeader::CONDITIONS_MAX`] conditions.
    #[error("an If header with too many conditions")]
    TooMany,
}

impl IfHeader {
    /// Maximum of conditions in one header.
    pub const CONDITIONS_MAX: usize = 1_024;

    /// Returns the lock tokens in the header. A mentioned token counts as submitted, whatever the result of
    /// its list (RFC 4918 section 10.4.1).
    pub fn submitted_tokens(&self) -> impl Iterator<Item = &LockToken> {
        let conditions = self.groups.iter().flat_map(|group| group.lists.iter().flatten());
        conditions.filter_map(|condition| match &condition.test {
            Test::Token(token) => Some(token),
            Test::Etag(_) => None,
        })
    }

    /// Returns the token of a header that names exactly one. LOCK names the lock to refresh in this way (RFC
    /// 4918 section 9.10.2).
    pub fn single_token(&self) -> Option<&LockToken> {
        let mut tokens = self.submitted_tokens();
        let first = tokens.next()?;
        tokens.next().is_none().then_some(first)
    }
}
