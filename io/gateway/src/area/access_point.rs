//! Access points: the URL paths at which areas appear, and the conversion of URL paths for access rules.

use weir_access::AccessPath;
use weir_dav::outcome::Outcome;
use weir_dav::path::{DavPath, PathError};

/// The URL path at which the tree of an area appears.
#[derive(Debug, Clone)]
pub(crate) struct AccessPoint {
    pub(crate) path: DavPath,
}

impl AccessPoint {
    /// Parses an access point from the config, which is not percent-encoded.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = plain_path(text).map_err(|error| format!("access point {text}: {error}"))?;
        Ok(Self { path })
    }
}

/// Parses a path from the config, which is not percent-encoded.
pub(crate) fn plain_path(text: &str) -> Result<DavPath, PathError> {
    let mut path = DavPath::root();
    for name in text.split('/').filter(|name| !name.is_empty() && *name != ".") {
        path = path.join(name.as_bytes())?;
    }
    Ok(path)
}

/// Converts a path for access rules. Rules compare names as text; bytes that are not text stay
/// percent-encoded.
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

/// Returns the outcome for a request with an invalid path.
pub(crate) fn outcome_of(error: PathError) -> Outcome {
    match error {
        PathError::TooLong | PathError::TooDeep | PathError::NameTooLong => Outcome::PathTooLong,
        _ => Outcome::BadPath,
    }
}

#[cfg(test)]
mod tests {
    use weir_dav::path::PathLimits;

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
        // A name that contains the characters `%E9` is a different name.
        assert_eq!(judged_as(b"/caf%25E9"), "/caf%25E9");
        assert_eq!(judged_as(b"/100%25/a%2520b"), "/100%/a%20b");
        assert_eq!(judged_as(b"/a%5Cb%07"), "/a%5Cb%07");
        assert_eq!(judged_as(b"/"), "/");
    }
}
