//! Paths that access is judged by: absolute, decoded once, normalised, compared by whole components.

use std::borrow::Cow;
use std::fmt;

use crate::percent;

/// An absolute path as its components. `/foo` and `/foobar` share no component, so neither contains the other.
///
/// A path that ends in `/` can only be a directory; the gateway may also know from the disk that it is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AccessPath {
    components: Vec<String>,
    directory: bool,
}

/// Why a text is not a path to judge by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// Does not begin with `/`.
    NotAbsolute,
    /// Over [`AccessPath::BYTES_MAX`].
    TooLong,
    /// A component is `..`, written plainly or percent-encoded.
    ParentReference,
    /// A `%` without two hexadecimal digits.
    Escape,
    /// `%2F`: it is a slash to some readers and a part of a name to others.
    EncodedSlash,
    /// A NUL, another control character, or a backslash, which some readers take for a slash.
    Character,
}

impl AccessPath {
    /// Longest text, in bytes.
    pub const BYTES_MAX: usize = 8192;

    /// `/`.
    pub fn root() -> Self {
        Self { components: Vec::new(), directory: true }
    }

    /// Reads the path of a URL or of a scope (RFC 3986 section 3.3): percent-decoded once, `.` and empty components left
    /// out. What is not UTF-8 once decoded is a name like others: [`AccessPath::name`] says how rules write it. No part of a
    /// query belongs here.
    ///
    /// # Errors
    /// It is not absolute, or two readers could take it for two different paths.
    pub fn from_encoded(text: &str) -> Result<Self, PathError> {
        Self::build(text, |component| {
            let decoded = percent::decode(component).ok_or(PathError::Escape)?;
            if decoded.contains(&b'/') {
                return Err(PathError::EncodedSlash);
            }
            literal(&decoded)
        })
    }

    /// Reads a path whose names are written as they are: `%` is a character like others.
    ///
    /// # Errors
    /// As [`AccessPath::from_encoded`].
    pub fn from_literal(text: &str) -> Result<Self, PathError> {
        Self::build(text, |component| literal(component.as_bytes()))
    }

    /// A name of the file system as rules write it: as text, and what is none in it (bytes that are not UTF-8, control
    /// characters, backslashes) percent-encoded. A `%` that stands before such a byte's two digits in the name itself is `%25`,
    /// so that no two names are written alike.
    pub fn name(bytes: &[u8]) -> Cow<'_, str> {
        percent::write_name(bytes)
    }

    /// Reads a path as rules write it, in config files: with names as [`AccessPath::name`] has them.
    ///
    /// # Errors
    /// As [`AccessPath::from_encoded`].
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

    /// The same path, known to be a directory.
    #[must_use]
    pub fn as_directory(mut self) -> Self {
        self.directory = true;
        self
    }

    /// Whether it is known to be a directory.
    pub fn is_directory(&self) -> bool {
        self.directory
    }

    /// Its decoded components, none for `/`.
    pub fn components(&self) -> &[String] {
        &self.components
    }

    /// Whether `other` is this path or lies below it. A path that ends in `/` contains no file of its own name.
    pub fn contains(&self, other: &Self) -> bool {
        let below = other.components.starts_with(&self.components);
        below && (!self.directory || other.directory || other.components.len() > self.components.len())
    }

    /// Whether this path lies on the way to `other`, which is below it.
    pub fn is_above(&self, other: &Self) -> bool {
        other.components.len() > self.components.len() && other.components.starts_with(&self.components)
    }

    /// What is left of it below `base`.
    pub fn below(&self, base: &Self) -> Option<Self> {
        let rest = self.components.strip_prefix(base.components.as_slice())?;
        Some(Self { components: rest.to_vec(), directory: self.directory || rest.is_empty() })
    }

    /// `rest` taken as a path below this one.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        let components = self.components.iter().chain(&rest.components).cloned().collect();
        Self { components, directory: rest.directory }
    }
}

/// A name without what some readers take for something else.
fn literal(name: &[u8]) -> Result<String, PathError> {
    let mut text = name.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    if text.any(percent::is_no_text) {
        Err(PathError::Character)
    } else {
        Ok(percent::write_name(name).into_owned())
    }
}

/// Decoded, for people.
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
