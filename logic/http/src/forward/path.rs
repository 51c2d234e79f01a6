use crate::PathRewrite;

/// Whether `path` begins with `prefix` as [`crate::PathPattern::Prefix`] has it: `/sa` matches `/sa` and `/sa/...`, never
/// `/sab`; `/sa/` matches what begins with it.
pub(crate) fn has_prefix(path: &[u8], prefix: &[u8]) -> bool {
    match path.strip_prefix(prefix) {
        None => false,
        Some(rest) => {
            rest.is_empty() || rest.first() == Some(&b'/') || prefix.last().is_none_or(|b| *b == b'/')
        }
    }
}

/// A path rewrite, in both directions.
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

    /// Appends the path of a request as the server gets it.
    pub(super) fn append_inward(&self, out: &mut Vec<u8>, path: &[u8]) {
        match self {
            Self::Keep => out.extend_from_slice(path),
            Self::Prefix { from, to } => append_mapped(out, path, from, to),
            Self::Full(full) => out.extend_from_slice(full),
        }
    }

    /// Appends the path of another resource that the request names, as the server knows it.
    pub(super) fn append_inward_other(&self, out: &mut Vec<u8>, path: &[u8]) {
        match self {
            Self::Prefix { from, to } => append_mapped(out, path, from, to),
            Self::Keep | Self::Full(_) => out.extend_from_slice(path),
        }
    }

    /// Whether a path that the server named is another one for the client.
    pub(super) fn maps_outward(&self, path: &[u8]) -> bool {
        matches!(self, Self::Prefix { to, .. } if has_prefix(path, to))
    }

    /// Appends a path that the server named, as the client knows it.
    pub(super) fn append_outward(&self, out: &mut Vec<u8>, path: &[u8]) {
        match self {
            Self::Prefix { from, to } => append_mapped(out, path, to, from),
            Self::Keep | Self::Full(_) => out.extend_from_slice(path),
        }
    }
}

/// Replaces the prefix, with exactly one slash between the new one and the rest.
fn append_mapped(out: &mut Vec<u8>, path: &[u8], from: &[u8], to: &[u8]) {
    if !has_prefix(path, from) {
        out.extend_from_slice(path);
        return;
    }
    let rest = &path[from.len()..];
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
