//! Paths for access decisions: absolute, decoded once, normalised, compared by whole components.

use std::borrow::Cow;
use std::fmt;

use crate::percent;

/// An absolute path as a list of components. `/foo` and `/foobar` share no component, so neither contains the
/// other.
///
/// A path that ends in `/` can only be a directory. The caller may also mark a path as a directory because
/// the file system says so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AccessPath {
    components: Vec<String>,
    directory: bool,
}

/// Reason why a text cannot be used as a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// The path does not begin with `/`.
    NotAbsolute,
    /// The path is longer than [`AccessPath::BYTES_MAX`].
    TooLong,
    /// A component is `..`, written plainly or percent-encoded.
    ParentReference,
    /// A `%` is not followed by two hexadecimal digits.
    Escape,
    /// The path contains `%2F`, which some readers take for a slash and others for a part of a name.
    EncodedSlash,
    /// The path contains NUL, another control character, or a backslash, which some readers take for a slash.
    Character,
}

impl AccessPath {
    /// Maximum length of a path, in bytes.
    pub const BYTES_MAX: usize = 8192;

    /// Returns the path `/`.
    pub fn root() -> Self {
        Self { components: Vec::new(), directory: true }
    }

    /// Parses the path of a URL or of a scope (RFC 3986 section 3.3). Decodes percent-escapes once and drops
    /// empty components and `.`. A name that is not UTF-8 after decoding is permitted; [`AccessPath::name`]
    /// defines how rules write it. The caller must remove the query first.
    ///
    /// # Errors
    /// If the path is not absolute, or if two readers could understand it as two different paths.
    pub fn from_encoded(text: &str) -> Result<Self, PathError> {
        Self::build(text, |component| {
            let decoded = percent::decode(component).ok_or(PathError::Escape)?;
            if decoded.contains(&b'/') {
                return Err(PathError::EncodedSlash);
            }
            literal(&decoded)
        })
    }

    /// Parses a path with literal names, in which `%` is an ordinary character.
    ///
    /// # Errors
    /// As for [`AccessPath::from_encoded`].
    pub fn from_literal(text: &str) -> Result<Self, PathError> {
        Self::build(text, |component| literal(component.as_bytes()))
    }

    /// Returns a file name as rules write it. Bytes that are not UTF-8, control characters and backslashes
    /// are percent-encoded. A `%` that would look like the start of such an escape becomes `%25`, so that two
    /// different names are never written the same way.
    pub fn name(bytes: &[u8]) -> Cow<'_, str> {
        percent::write_name(bytes)
    }

    /// Parses a path as rules and config files write it, with names in the form of [`AccessPath::name`].
    ///
    /// # Errors
    /// As for [`AccessPath::from_encoded`].
    pub fn from_plain(text: &str) -> Result<Self, PathError> {
        Self::build(text, |component| Ok(component.to_owned()))
    }

    fn build(text: &str, decode: impl Fn(&str) -> Result<String, PathError>) -> Result<Self, PathError> {
        if text.len() > Self::BYTES_MAX {
            return Err(PathError::TooLong);
        }
        let inner = text.strip_prefix('/').ok_or(PathError::NotAbsolute)?;
        let mut components = Vec::new();
        let mut directory = true;
        for written in inner.split('/') {
            let component = decode(written)?;
            if component.chars().any(|c| c.is_control() || c == '\\') {
                return Err(PathError::Character);
            }
            match component.as_str() {
                ".." => return Err(PathError::ParentReference),
                "" | "." => directory = true,
                _ => {
                    components.push(component);
                    directory = false;
                }
            }
        }
        Ok(Self { components, directory })
    }

    /// Returns the path, marked as a directory.
    #[must_use]
    pub fn as_directory(mut self) -> Self {
        self.directory = true;
        self
    }

    /// Returns true if the path is known to be a directory.
    pub fn is_directory(&self) -> bool {
        self.directory
    }

    /// Returns the decoded components; `/` has none.
    pub fn components(&self) -> &[String] {
        &self.components
    }

    /// Returns true if `other` is this path or lies below it. A path that ends in `/` does not contain a file
    /// of the same name.
    pub fn contains(&self, other: &Self) -> bool {
        let below = other.components.starts_with(&self.components);
        below && (!self.directory || other.directory || other.components.len() > self.components.len())
    }

    /// Returns true if this path is an ancestor of `other`.
    pub fn is_above(&self, other: &Self) -> bool {
        other.components.len() > self.components.len() && other.components.starts_with(&self.components)
    }

    /// Returns the path relative to `base`, or `None` if it does not lie below `base`.
    pub fn below(&self, base: &Self) -> Option<Self> {
        let rest = self.components.strip_prefix(base.components.as_slice())?;
        Some(Self { components: rest.to_vec(), directory: self.directory || rest.is_empty() })
    }

    /// Returns `rest` as a path below this one.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        let components = self.components.iter().chain(&rest.components).cloned().collect();
        Self { components, directory: rest.directory }
    }
}

/// Converts a literal name to the form that rules use. Rejects characters that some readers interpret
/// differently.
fn literal(name: &[u8]) -> Result<String, PathError> {
    let mut text = name.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    if text.any(percent::is_no_text) {
        Err(PathError::Character)
    } else {
        Ok(percent::write_name(name).into_owned())
    }
}

/// Shows the decoded path for people.
impl fmt::Display for AccessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for component in &self.components {
            write!(f, "/{component}")?;
        }
        if self.directory || self.components.is_empty() { f.write_str("/") } else { Ok(()) }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAbsolute => "a path begins with /",
            Self::TooLong => "the path is too long",
            Self::ParentReference => "the path has a component ..",
            Self::Escape => "the path has a % without two hexadecimal digits",
            Self::EncodedSlash => "the path has an encoded slash",
            Self::Character => "the path has a control character or a backslash",
        })
    }
}

impl std::error::Error for PathError {}
