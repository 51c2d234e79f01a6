//! Compiled sets of path patterns.

use super::RouteError;
use super::glob::Glob;
use crate::forward::has_prefix;
use crate::path::canonical;
use crate::{PathPattern, PathRules};

/// A compiled set of [`PathPattern`]s.
#[derive(Debug, Clone, Default)]
pub struct PathSet {
    paths: Vec<Path>,
}

#[derive(Debug, Clone)]
enum Path {
    Exact(Box<[u8]>),
    Prefix(Box<[u8]>),
    /// A glob with `**` at the start and no other wildcard, as for file extensions.
    Suffix(Box<[u8]>),
    Glob(Glob),
}

impl PathSet {
    /// Compiles patterns for paths normalised by `rules`; without rules, for paths as sent.
    ///
    /// # Errors
    /// If a glob is too long.
    pub fn compile(patterns: &[PathPattern], rules: Option<&PathRules>) -> Result<Self, RouteError> {
        let encode = match rules {
            Some(_) => canonical,
            None => <[u8]>::to_vec,
        };
        let paths =
            patterns.iter().map(|pattern| Path::compile(pattern, encode)).collect::<Result<_, _>>()?;
        Ok(Self { paths })
    }

    /// Returns true if the set has no pattern.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns true if a pattern matches this path, which has no query.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.paths.iter().any(|pattern| pattern.matches(path))
    }
}

impl Path {
    /// Compiles a pattern; `encode` converts text to the encoding of the compared paths.
    fn compile(pattern: &PathPattern, encode: fn(&[u8]) -> Vec<u8>) -> Result<Self, RouteError> {
        Ok(match pattern {
            PathPattern::Exact(path) => Self::Exact(encode(path.as_bytes()).into()),
            PathPattern::Prefix(path) => Self::Prefix(encode(path.as_bytes()).into()),
            PathPattern::Glob(glob) => match glob.strip_prefix("**") {
                Some(suffix) if !suffix.contains(['*', '?']) => {
                    Self::Suffix(encode(suffix.as_bytes()).into())
                }
                _ => Self::Glob(Glob::compile(glob, encode).ok_or(RouteError::Glob)?),
            },
        })
    }

    fn matches(&self, path: &[u8]) -> bool {
        match self {
            Self::Exact(exact) => **exact == *path,
            Self::Prefix(prefix) => has_prefix(path, prefix),
            Self::Suffix(suffix) => path.ends_with(suffix),
            Self::Glob(glob) => glob.matches(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_its_patterns_takes_a_path() {
        let glob = |text: &str| PathPattern::Glob(text.to_owned());
        let patterns = [
            PathPattern::Exact("/".to_owned()),
            PathPattern::Prefix("/static".to_owned()),
            glob("**.png"),
            glob("/img/*/small"),
        ];
        let set = PathSet::compile(&patterns, None).unwrap();
        for path in ["/", "/static", "/static/a", "/a/b.png", "/.png", "/img/a/small"] {
            assert!(set.matches(path.as_bytes()), "{path}");
        }
        for path in ["/a", "/statics", "/a.png/b", "/a.PNG", "/img/a/b/small"] {
            assert!(!set.matches(path.as_bytes()), "{path}");
        }
        assert!(!PathSet::default().matches(b"/"));
        assert!(PathSet::compile(&[glob(&"?".repeat(256))], None).is_err());
    }

    #[test]
    fn the_encoding_of_a_pattern_does_not_count() {
        let rules = PathRules::default();
        let glob = |text: &str| PathPattern::Glob(text.to_owned());
        let patterns =
            [PathPattern::Prefix("/%61%24b/caf%c3%a9".to_owned()), glob("/%69/*%2f?"), glob("**%2epng")];
        let set = PathSet::compile(&patterns, Some(&rules)).unwrap();
        for path in ["/a$b/caf%C3%A9/x", "/i/x%2Fy", "/x.png"] {
            assert!(set.matches(path.as_bytes()), "{path}");
        }
        // An encoded star is not a wildcard; without rules, text is compared unchanged.
        let star = [glob("/%2a?")];
        let (normal, sent) =
            (PathSet::compile(&star, Some(&rules)).unwrap(), PathSet::compile(&star, None).unwrap());
        assert!(normal.matches(b"/*x") && !normal.matches(b"/yx") && !normal.matches(b"/%2ax"));
        assert!(sent.matches(b"/%2ax") && !sent.matches(b"/*x"));
    }
}
