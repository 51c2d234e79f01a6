//! Storage scopes: operations on paths, as the `scope` claim of a token lists them.

use std::fmt;

use crate::{AccessPath, PathError, percent};

/// The operation that a storage scope permits (WLCG profile, "Capability based Authorization: scope").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// `storage.read`
    Read,
    /// `storage.create`
    Create,
    /// `storage.modify`
    Modify,
    /// `storage.stage`
    Stage,
    /// `storage.poll`
    Poll,
}

/// One storage scope: an operation below a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageScope {
    /// Permitted operation.
    pub operation: Operation,
    /// Path below which it is permitted, relative to the issuer's base path. A path that ends in `/` matches
    /// only a directory.
    pub path: AccessPath,
}

/// The storage scopes of a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScopeSet {
    scopes: Vec<StorageScope>,
    invalid: usize,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 5] = [Self::Read, Self::Create, Self::Modify, Self::Stage, Self::Poll];

    /// Returns the name as a scope spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "storage.read",
            Self::Create => "storage.create",
            Self::Modify => "storage.modify",
            Self::Stage => "storage.stage",
            Self::Poll => "storage.poll",
        }
    }
}

impl StorageScope {
    /// Parses one word of a scope claim. Returns `None` if the word is not a storage scope.
    pub fn parse(word: &str) -> Option<Result<Self, PathError>> {
        let (name, path) = word.split_once(':').unwrap_or((word, ""));
        let operation = Operation::ALL.into_iter().find(|operation| operation.name() == name)?;
        Some(AccessPath::from_encoded(path).map(|path| Self { operation, path }))
    }
}

impl ScopeSet {
    /// Parses the words of a scope claim and ignores words that are not storage scopes. A storage scope with
    /// an invalid path permits nothing, but it still limits the token to its scopes.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut set = Self::default();
        for word in words {
            match StorageScope::parse(word) {
                None => {}
                Some(Ok(scope)) if set.scopes.contains(&scope) => {}
                Some(Ok(scope)) => set.scopes.push(scope),
                Some(Err(_)) => set.invalid += 1,
            }
        }
        set
    }

    /// Creates a set of the given scopes.
    pub fn of(scopes: impl IntoIterator<Item = StorageScope>) -> Self {
        Self { scopes: scopes.into_iter().collect(), invalid: 0 }
    }

    /// Returns the valid scopes.
    pub fn scopes(&self) -> &[StorageScope] {
        &self.scopes
    }

    /// Returns true if the token has no storage scope. Such a token identifies its bearer but does not limit
    /// the actions.
    pub fn is_absent(&self) -> bool {
        self.scopes.is_empty() && self.invalid == 0
    }

    /// Returns the number of storage scopes with an invalid path.
    pub fn invalid(&self) -> usize {
        self.invalid
    }
}

/// Shows the scope percent-encoded, as a token contains it.
impl fmt::Display for StorageScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.operation.name())?;
        for component in self.path.components() {
            f.write_str("/")?;
            for byte in percent::read_name(component) {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                        write!(f, "{}", char::from(byte))?;
                    }
                    _ => write!(f, "%{byte:02X}")?,
                }
            }
        }
        if self.path.is_directory() { f.write_str("/") } else { Ok(()) }
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        for (at, scope) in self.scopes.iter().take(SHOWN).enumerate() {
            write!(f, "{}{scope}", if at > 0 { " " } else { "" })?;
        }
        match self.scopes.len().saturating_sub(SHOWN) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        match (self.scopes.is_empty(), self.invalid) {
            (_, 0) => Ok(()),
            (true, invalid) => write!(f, "{invalid} that cannot be read"),
            (false, invalid) => write!(f, " and {invalid} that cannot be read"),
        }
    }
}
