//! Paths of resources: decoded once, compared by whole segments.

mod error;
mod limits;
mod percent;
#[cfg(test)]
mod tests;

use std::fmt;

pub use error::PathError;
pub use limits::PathLimits;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The path of a resource: segments of bytes, none of them empty, `.` or `..`, none with `/` or NUL. Names need not be
/// UTF-8: what a file system has, a path can say.
///
/// A path says nothing about slashes at its end: `/a` and `/a/` are one resource (RFC 4918 section 5.2). Paths are ordered
/// such that everything below a path is one contiguous range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DavPath {
    /// `/a/b`, decoded; empty for the root. Contains every segment with a slash before it.
    bytes: Vec<u8>,
}

/// A path as a client wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    /// The resource.
    pub path: DavPath,
    /// It was written with a slash at its end: the client means a collection (RFC 4918 section 5.2). True for the root.
    pub trailing_slash: bool,
}

impl DavPath {
    /// The root: no segments.
    pub const fn root() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Reads the path of a request target (RFC 3986 section 3.3), without query: decodes its escapes once, merges empty
    /// segments, refuses what is not a sound path (see [`PathError`]).
    pub fn parse(text: &[u8], limits: &PathLimits) -> Result<RequestPath, PathError> {
        if text.first() != Some(&b'/') {
            return Err(PathError::NotAbsolute);
        }
        if text.len() > limits.bytes_max.saturating_mul(3) {
            // Even with every byte escaped it would be too long.
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

    /// The path of the member `name` (decoded) of this collection.
    pub fn join(&self, name: &[u8]) -> Result<Self, PathError> {
        check_name(name, &PathLimits::NONE)?;
        let mut bytes = Vec::with_capacity(self.bytes.len() + 1 + name.len());
        bytes.extend_from_slice(&self.bytes);
        bytes.push(b'/');
        bytes.extend_from_slice(name);
        Ok(Self { bytes })
    }

    /// The path that `below` is, seen from this one: `/a` and `/b/c` make `/a/b/c`.
    pub fn append(&self, below: &Self) -> Self {
        Self { bytes: [self.bytes.as_slice(), &below.bytes].concat() }
    }

    /// Its segments, decoded, from the root on.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.bytes.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty())
    }

    /// How many segments it has; the root has none.
    pub fn depth(&self) -> usize {
        self.bytes.iter().filter(|byte| **byte == b'/').count()
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The last segment; `None` for the root.
    pub fn name(&self) -> Option<&[u8]> {
        self.segments().next_back()
    }

    /// The collection that it is a member of; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.bytes.iter().rposition(|byte| *byte == b'/')?;
        Some(Self { bytes: self.bytes[..slash].to_vec() })
    }

    /// Every collection that it is below of: the parent first, the root last. Empty for the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Whether it is `prefix` or below it, compared by whole segments: `/sab` does not start with `/sa`.
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.rest_after(prefix).is_some()
    }

    /// Whether it is below `ancestor`, and not `ancestor` itself.
    pub fn is_below(&self, ancestor: &Self) -> bool {
        self.rest_after(ancestor).is_some_and(|rest| !rest.is_empty())
    }

    /// The path seen from `prefix`: `/a/b/c` after `/a` is `/b/c`. `None` if it does not start with it.
    pub fn strip_prefix(&self, prefix: &Self) -> Option<Self> {
        self.rest_after(prefix).map(|rest| Self { bytes: rest.to_vec() })
    }

    fn rest_after(&self, prefix: &Self) -> Option<&[u8]> {
        let rest = self.bytes.strip_prefix(prefix.bytes.as_slice())?;
        matches!(rest.first(), None | Some(b'/')).then_some(rest)
    }

    /// The decoded path below a directory, as a file system takes it: `a/b`, without a slash at the start; empty for the
    /// root.
    pub fn relative_bytes(&self) -> &[u8] {
        self.bytes.strip_prefix(b"/").unwrap_or(&self.bytes)
    }

    /// The path as an href (RFC 4918 section 8.3, RFC 3986 section 3.3): escaped, with a slash at its end if it is a
    /// collection's. ASCII without `&`, `<`, quotes and blanks, so it can stand in XML and in headers as it is.
    pub fn href(&self, collection: bool) -> String {
        let mut href = String::with_capacity(self.bytes.len() + 1);
        self.append_href(&mut href, collection);
        href
    }

    /// Appends [`Self::href`].
    pub fn append_href(&self, out: &mut String, collection: bool) {
        percent::encode(&self.bytes, out);
        if collection || self.is_root() {
            out.push('/');
        }
    }

    /// The first path after everything below this one, for ranges over ordered maps.
    pub(crate) fn range_below(&self) -> (Self, Self) {
        // All that is below begins with the path and a slash; '0' is the byte after the slash.
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

/// As an href without a slash at its end, for logs and messages.
impl fmt::Display for DavPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.href(false))
    }
}

/// As an href: text, whatever bytes the names have.
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
