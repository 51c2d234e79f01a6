//! Names of configured objects.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A name that an operator assigns: 1 to 64 characters of `A-Z a-z 0-9 _ - . :`. It needs no quotes in
/// metrics, log lines, CSV files and cookies.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

/// Reason why a text is not a valid [`Name`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadName {
    /// The text is empty.
    Empty,
    /// The text is longer than 64 bytes.
    TooLong,
    /// The text contains this character, which is not permitted.
    Character(char),
}

impl Name {
    /// Maximum length of a name, in bytes.
    pub const BYTES_MAX: usize = 64;

    /// Creates a name.
    ///
    /// # Errors
    /// If `text` is empty, too long, or contains a character that is not permitted.
    pub fn new(text: &str) -> Result<Self, BadName> {
        if text.is_empty() {
            return Err(BadName::Empty);
        }
        if text.len() > Self::BYTES_MAX {
            return Err(BadName::TooLong);
        }
        match text.chars().find(|c| !(c.is_ascii_alphanumeric() || "_-.:".contains(*c))) {
            Some(stranger) => Err(BadName::Character(stranger)),
            None => Ok(Self(text.into())),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a name needs at least one character"),
            Self::TooLong => write!(f, "a name has at most {} characters", Name::BYTES_MAX),
            Self::Character(c) => write!(f, "{c:?} cannot stand in a name (letters, digits and _ - . : can)"),
        }
    }
}

impl std::error::Error for BadName {}

impl TryFrom<String> for Name {
    type Error = BadName;
    fn try_from(text: String) -> Result<Self, BadName> {
        Self::new(&text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// The name of a listener.
pub type ListenerName = Name;
/// The name of a route.
pub type RouteName = Name;
/// The name of a pool.
pub type PoolName = Name;
/// The name of a server within its pool.
pub type ServerName = Name;
/// The name of a zone: a room, a site or a region.
pub type ZoneName = Name;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_to_characters_that_need_no_quoting() {
        assert!(Name::new("web-1.example:8080_a").is_ok());
        assert_eq!(Name::new(""), Err(BadName::Empty));
        assert_eq!(Name::new("a b"), Err(BadName::Character(' ')));
        assert_eq!(Name::new("é"), Err(BadName::Character('é')));
        assert_eq!(Name::new(&"x".repeat(65)), Err(BadName::TooLong));
    }
}
