use std::fmt;

use crate::{AccessPath, PathError, percent};

/// What a storage scope permits (WLCG profile, "Capability based Authorization: scope").
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

/// One scope: an operation below a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageScope {
    /// What.
    pub operation: Operation,
    /// Where: from the issuer's base path. One that ends in `/` is a directory only.
    pub path: AccessPath,
}

/// The storage scopes of a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScopeSet {
    scopes: Vec<StorageScope>,
    invalid: usize,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Read, Self::Create, Self::Modify, Self::Stage, Self::Poll];

    /// As a scope spells it.
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
    /// Reads one word of a scope claim. `None`: it is about something else than storage.
    pub fn parse(word: &str) -> Option<Result<Self, PathError>> {
        let (name, path) = word.split_once(':').unwrap_or((word, ""));
        let operation = Operation::ALL.into_iter().find(|operation| operation.name() == name)?;
        Some(AccessPath::from_encoded(path).map(|path| Self { operation, path }))
    }
}

impl ScopeSet {
    /// Reads the words of a scope claim. Those about something else are left out; a storage scope whose path cannot be read
    /// permits nothing, but still makes the token one that is limited to its scopes.
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

    /// Of these scopes.
    pub fn of(scopes: impl IntoIterator<Item = StorageScope>) -> Self {
        Self { scopes: scopes.into_iter().collect(), invalid: 0 }
    }

    /// The scopes that can permit something.
    pub fn scopes(&self) -> &[StorageScope] {
        &self.scopes
    }

    /// Whether the token has no storage scope at all, so that it says who its bearer is and not what it may do.
    pub fn is_absent(&self) -> bool {
        self.scopes.is_empty() && self.invalid == 0
    }

    /// How many could not be read.
    pub fn invalid(&self) -> usize {
        self.invalid
    }
}

/// Percent-encoded as in a token.
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
