//! Where a request leads: the path as the client wrote it, as the tree has it, and as access is judged by it.

use weir_access::AccessPath;
use weir_dav::outcome::Outcome;
use weir_dav::path::{DavPath, PathError, PathLimits};

use crate::area::Area;

/// Where the tree of an area appears in URLs.
#[derive(Debug, Clone)]
pub(crate) struct AccessPoint {
    pub(crate) path: DavPath,
}

/// A resource of an area.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// From the root of the server, as URLs have it.
    pub(crate) full: DavPath,
    /// From the root of the tree.
    pub(crate) path: DavPath,
    /// It was written with a slash at its end.
    pub(crate) trailing_slash: bool,
}

impl AccessPoint {
    /// From config: written plainly.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = plain_path(text).map_err(|error| format!("access point {text}: {error}"))?;
        Ok(Self { path })
    }
}

/// A path that is written plainly, in a config.
pub(crate) fn plain_path(text: &str) -> Result<DavPath, PathError> {
    let mut path = DavPath::root();
    for name in text.split('/').filter(|name| !name.is_empty() && *name != ".") {
        path = path.join(name.as_bytes())?;
    }
    Ok(path)
}

impl Place {
    /// The place that a path in a request stands for.
    pub(crate) fn of(area: &Area, written: &[u8]) -> Result<Self, Outcome> {
        let read = DavPath::parse(written, &PathLimits::default()).map_err(outcome_of)?;
        Self::at(area, read.path, read.trailing_slash)
    }

    /// The place at a path of the server.
    pub(crate) fn at(area: &Area, full: DavPath, trailing_slash: bool) -> Result<Self, Outcome> {
        let below = area.points.iter().find_map(|point| full.strip_prefix(&point.path));
        let path = below.ok_or(Outcome::NotFound)?;
        Ok(Self { full, path, trailing_slash })
    }

    /// A member of this collection.
    pub(crate) fn member(&self, name: &[u8]) -> Result<Self, Outcome> {
        let full = self.full.join(name).map_err(outcome_of)?;
        let path = self.path.join(name).map_err(outcome_of)?;
        Ok(Self { full, path, trailing_slash: false })
    }

    /// What has this name in the same collection.
    pub(crate) fn sibling(&self, name: &[u8]) -> Result<Self, Outcome> {
        let full = self.full.parent().unwrap_or_default().join(name).map_err(outcome_of)?;
        let path = self.path.parent().unwrap_or_default().join(name).map_err(outcome_of)?;
        Ok(Self { full, path, trailing_slash: false })
    }

    /// Where the tree begins in URLs, seen from this place.
    pub(crate) fn prefix(&self) -> DavPath {
        match self.path.depth() {
            0 => self.full.clone(),
            depth => self.full.ancestors().nth(depth - 1).unwrap_or_default(),
        }
    }

    /// What access is judged by.
    pub(crate) fn access_path(&self) -> Result<AccessPath, Outcome> {
        access_path(&self.full, self.trailing_slash)
    }
}

/// A path as rules have it. Names are compared as text; what is no text in one stands there percent-encoded.
pub(crate) fn access_path(path: &DavPath, directory: bool) -> Result<AccessPath, Outcome> {
    let mut text = String::new();
    for segment in path.segments() {
        text.push('/');
        text.push_str(&AccessPath::name(segment));
    }
    if directory || text.is_empty() {
        text.push('/');
    }
    AccessPath::from_plain(&text).map_err(|error| match error {
        weir_access::PathError::TooLong => Outcome::PathTooLong,
        _ => Outcome::BadPath,
    })
}

fn outcome_of(error: PathError) -> Outcome {
    match error {
        PathError::TooLong | PathError::TooDeep | PathError::NameTooLong => Outcome::PathTooLong,
        _ => Outcome::BadPath,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged_as(path: &[u8]) -> String {
        let path = DavPath::parse(path, &PathLimits::default()).unwrap();
        access_path(&path.path, path.trailing_slash).unwrap().to_string()
    }

    #[test]
    fn what_is_no_text_in_a_name_is_judged_in_its_encoded_form() {
        assert_eq!(judged_as(b"/a%20b/c"), "/a b/c");
        assert_eq!(judged_as(b"/caf%C3%A9/"), "/caf\u{e9}/");
        assert_eq!(judged_as(b"/caf%E9"), "/caf%E9");
        // A name that consists of these characters is another one.
        assert_eq!(judged_as(b"/caf%25E9"), "/caf%25E9");
        assert_eq!(judged_as(b"/100%25/a%2520b"), "/100%/a%20b");
        assert_eq!(judged_as(b"/a%5Cb%07"), "/a%5Cb%07");
        assert_eq!(judged_as(b"/"), "/");
    }
}
