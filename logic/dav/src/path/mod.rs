//! Paths of resources: decoded once, and compared by whole segments.

mod error;
mod limits;
mod percent;
#[cfg(test)]
mod tests;

use std::fmt;

pub use error::PathError;
pub use limits::PathLimits;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The path of a resource. A segment is any bytes without `/` or NUL, but not empty, `.` or `..`. Segments
/// need not be UTF-8, because file names need not be.
///
/// A path keeps no trailing slash: `/a` and `/a/` are one resource (RFC 4918 section 5.2). Paths are ordered
/// such that everything below a path is one contiguous range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DavPath {
    /// Decoded segments, each after a slash, e.g. `/a/b`; empty for the root.
    bytes: Vec<u8>,
}

/// A path from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    /// Path of the resource.
    pub path: DavPath,
    /// True if the path was written with a trailing slash, which means a collection (RFC 4918 section 5.2).
    /// True for the root.
    pub trailing_slash: bool,
}

impl DavPath {
    /// Returns the root, which has no segments.
    pub const fn root() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Parses the path of a request target without the query (RFC 3986 section 3.3). Decodes the escapes
    /// once, merges empty segments, and refuses invalid paths (see [`PathError`]).
    pub fn parse(text: &[u8], limits: &PathLimits) -> Result<RequestPath, PathError> {
        if text.first() != Some(&b'/') {
            return Err(PathError::NotAbsolute);
        }
        if text.len() > limits.bytes_max.saturating_mul(3) {
            // The path would be too long even if every byte were escaped.
            return Err(PathError::TooLong);
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut segments = 0;
        for raw in text.split(|byte| *byte == b'/').filter(|raw| !raw.is_empty()) {
            bytes.push(b'/');
            let start = bytes.len();
            percent::decode(raw, &mut bytes)?;
            check_name(&bytes[start..], limits)?;
            segments += 1;
        }
        if bytes.len() > limits.bytes_max {
            return Err(PathError::TooLong);
        }
        if segments > limits.depth_max {
            return Err(PathError::TooDeep);
        }
        Ok(RequestPath { path: Self { bytes }, trailing_slash: text.last() == Some(&b'/') })
    }

    /// Returns the path of the member `name` (decoded) of this collection.
    pub fn join(&self, name: &[u8]) -> Result<Self, PathError> {
        check_name(name, &PathLimits::NONE)?;
        let mut bytes = Vec::with_capacity(self.bytes.len() + 1 + name.len());
        bytes.extend_from_slice(&self.bytes);
        bytes.push(b'/');
        bytes.extend_from_slice(name);
        Ok(Self { bytes })
    }

    /// Appends a relative path: `/a` and `/b/c` make `/a/b/c`.
    pub fn append(&self, below: &Self) -> Self {
        Self { bytes: [self.bytes.as_slice(), &below.bytes].concat() }
    }

    /// Returns the decoded segments, from the root down.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.bytes.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty())
    }

    /// Returns the number of segments; 0 for the root.
    pub fn depth(&self) -> usize {
        self.bytes.iter().filter(|byte| **byte == b'/').count()
    }

    /// Returns true for the root.
    pub fn is_root(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the last segment; `None` for the root.
    pub fn name(&self) -> Option<&[u8]> {
        self.segments().next_back()
    }

    /// Returns the collection that contains the resource; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.bytes.iter().rposition(|byte| *byte == b'/')?;
        Some(Self { bytes: self.bytes[..slash].to_vec() })
    }

    /// Returns the collections above the resource: the parent first, the root last. Empty for the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Returns true if the path is `prefix` or below it, by whole segments: `/sab` does not start with `/sa`.
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.rest_after(prefix).is_some()
    }

    /// Returns true if the path is below `ancestor`, but not if it is `ancestor` itself.
    pub fn is_below(&self, ancestor: &Self) -> bool {
        self.rest_after(ancestor).is_some_and(|rest| !rest.is_empty())
    }

    /// Returns the path relative to `prefix`: `/a/b/c` without `/a` is `/b/c`. Returns `None` if the path
    /// does not start with `prefix`.
    pub fn strip_prefix(&self, prefix: &Self) -> Option<Self> {
        self.rest_after(prefix).map(|rest| Self { bytes: rest.to_vec() })
    }

    fn rest_after(&self, prefix: &Self) -> Option<&[u8]> {
        let rest = self.bytes.strip_prefix(prefix.bytes.as_slice())?;
        matches!(rest.first(), None | Some(b'/')).then_some(rest)
    }

    /// Returns the decoded path as a relative path of the file system: `a/b`, without a leading slash; empty
    /// for the root.
    pub fn relative_bytes(&self) -> &[u8] {
        self.bytes.strip_prefix(b"/").unwrap_or(&self.bytes)
    }

    /// Formats the path as an href (RFC 4918 section 8.3, RFC 3986 section 3.3), percent-encoded, with a
    /// trailing slash for a collection. The result is ASCII without `&`, `<`, quotes and spaces, so XML and
    /// headers need no further escapes.
    pub fn href(&self, collection: bool) -> String {
        let mut href = String::with_capacity(self.bytes.len() + 1);
        self.append_href(&mut href, collection);
        href
    }

    /// Appends the result of [`Self::href`] to `out`.
    pub fn append_href(&self, out: &mut String, collection: bool) {
        percent::encode(&self.bytes, out);
        if collection || self.is_root() {
            out.push('/');
        }
    }

    /// Returns the range of everything below this path in an ordered map: the inclusive start and the
    /// exclusive end.
    pub(crate) fn range_below(&self) -> (Self, Self) {
        // Every path below begins with this path and a slash; '0' is the byte after the slash.
        let bound = |byte| Self { bytes: [self.bytes.as_slice(), &[byte]].concat() };
        (bound(b'/'), bound(b'/' + 1))
    }
}

fn check_name(name: &[u8], limits: &PathLimits) -> Result<(), PathError> {
    match name {
        b"" => Err(PathError::EmptyName),
        b"." | b".." => Err(PathError::DotSegment),
        _ if name.contains(&0) => Err(PathError::Nul),
        _ if name.contains(&b'/') => Err(PathError::EncodedSlash),
        _ if name.len() > limits.name_bytes_max => Err(PathError::NameTooLong),
        _ => Ok(()),
    }
}

/// Formats the path as an href without a trailing slash, for logs and messages.
impl fmt::Display for DavPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.href(false))
    }
}

/// Serialises the path as an href, which is text even if the names are not UTF-8.
impl Serialize for DavPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DavPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = Self::parse(text.as_bytes(), &PathLimits::NONE).map_err(serde::de::Error::custom)?;
        Ok(read.path)
    }
}
