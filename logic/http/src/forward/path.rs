//! Prefix rewrites of paths.

use crate::path::{canonical, is_plain};
use crate::{PathRewrite, PathRules};

/// Returns true if `path` begins with `prefix` in the sense of [`crate::PathPattern::Prefix`]. `/sa` matches
/// `/sa` and `/sa/...`, but not `/sab`; `/sa/` matches every path that begins with it.
pub(crate) fn has_prefix(path: &[u8], prefix: &[u8]) -> bool {
    match path.strip_prefix(prefix) {
        None => false,
        Some(rest) => {
            rest.is_empty() || rest.first() == Some(&b'/') || prefix.last().is_none_or(|b| *b == b'/')
        }
    }
}

/// A path rewrite, for both directions.
#[derive(Debug, Clone)]
pub(super) enum PathMap {
    Keep,
    Prefix { from: Box<[u8]>, to: Box<[u8]> },
    Full(Box<[u8]>),
}

impl PathMap {
    pub(super) fn new(rewrite: Option<&PathRewrite>) -> Self {
        match rewrite {
            None => Self::Keep,
            Some(PathRewrite::Prefix { from, to }) => {
                Self::Prefix { from: from.as_bytes().into(), to: to.as_bytes().into() }
            }
            Some(PathRewrite::Full(path)) => Self::Full(path.as_bytes().into()),
        }
    }

    #[inline]
    pub(super) fn keeps(&self) -> bool {
        matches!(self, Self::Keep)
    }

    pub(super) fn maps_prefix(&self) -> bool {
        matches!(self, Self::Prefix { .. })
    }

    /// Appends the path of a request in the form for the server. `rules` are those that normalised it.
    pub(super) fn append_inward(&self, out: &mut Vec<u8>, path: &[u8], rules: Option<&PathRules>) {
        match self {
            Self::Keep | Self::Prefix { .. } => self.append_inward_other(out, path, rules),
            Self::Full(full) => out.extend_from_slice(full),
        }
    }

    /// Appends the path of another resource in the request in the form for the server.
    pub(super) fn append_inward_other(&self, out: &mut Vec<u8>, path: &[u8], rules: Option<&PathRules>) {
        match self {
            Self::Prefix { from, to } => match rules.and_then(|rules| other_spelling(path, from, rules)) {
                Some(prefix_bytes) => append_replaced(out, &path[prefix_bytes..], to),
                None => append_mapped(out, path, from, to),
            },
            Self::Keep | Self::Full(_) => out.extend_from_slice(path),
        }
    }

    /// Returns true if a path from the server differs in the client's view.
    pub(super) fn maps_outward(&self, path: &[u8]) -> bool {
        matches!(self, Self::Prefix { to, .. } if has_prefix(path, to))
    }

    /// Appends a path from the server in the form for the client.
    pub(super) fn append_outward(&self, out: &mut Vec<u8>, path: &[u8]) {
        match self {
            Self::Prefix { from, to } => append_mapped(out, path, to, from),
            Self::Keep | Self::Full(_) => out.extend_from_slice(path),
        }
    }
}

/// Returns the length in bytes of another spelling of `prefix` at the start of a path, with other escapes or
/// parameters. A route ignores such differences, so its rewrite must match the same paths. The path has no
/// dot segments.
fn other_spelling(path: &[u8], prefix: &[u8], rules: &PathRules) -> Option<usize> {
    // Two plain paths have only one spelling each.
    if has_prefix(path, prefix) || (is_plain(path) && is_plain(prefix)) {
        return None;
    }
    let (is_directory, prefix) = match prefix.strip_suffix(b"/") {
        Some(prefix) => (true, canonical(prefix)),
        None => (false, canonical(prefix)),
    };
    let mut compared = Vec::with_capacity(prefix.len());
    let mut end = 0;
    for segment in path.split(|byte| *byte == b'/').skip(1) {
        end += 1 + segment.len();
        let name = rules.compared_name(segment);
        if name.is_empty() && rules.merge_slashes {
            continue;
        }
        compared.push(b'/');
        compared.extend_from_slice(&canonical(name));
        if compared == prefix {
            return match is_directory {
                true => (end < path.len()).then_some(end + 1),
                false => Some(end),
            };
        }
        if !prefix.starts_with(&compared) {
            return None;
        }
    }
    None
}

/// Replaces the prefix, with exactly one slash between the new one and the rest.
fn append_mapped(out: &mut Vec<u8>, path: &[u8], from: &[u8], to: &[u8]) {
    match has_prefix(path, from) {
        true => append_replaced(out, &path[from.len()..], to),
        false => out.extend_from_slice(path),
    }
}

/// Appends `to` and the rest of the path after the prefix.
fn append_replaced(out: &mut Vec<u8>, rest: &[u8], to: &[u8]) {
    let to_ends = to.last() == Some(&b'/');
    let rest_begins = rest.first() == Some(&b'/');
    let to = if to_ends && rest_begins { &to[..to.len() - 1] } else { to };
    out.extend_from_slice(to);
    let needs_slash = !rest.is_empty() && !to_ends && !rest_begins;
    if needs_slash || (to.is_empty() && rest.is_empty()) {
        out.push(b'/');
    }
    out.extend_from_slice(rest);
}
