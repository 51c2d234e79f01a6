use super::RouteError;
use super::glob::Glob;
use crate::PathPattern;
use crate::forward::has_prefix;

/// Some [`PathPattern`]s, compiled.
#[derive(Debug, Clone, Default)]
pub struct PathSet {
    paths: Vec<Path>,
}

#[derive(Debug, Clone)]
enum Path {
    Exact(Box<[u8]>),
    Prefix(Box<[u8]>),
    /// `**` and then no more stars: file extensions are written so.
    Suffix(Box<[u8]>),
    Glob(Glob),
}

impl PathSet {
    /// # Errors
    /// A glob is too long.
    pub fn compile(patterns: &[PathPattern]) -> Result<Self, RouteError> {
        let paths = patterns.iter().map(Path::compile).collect::<Result<_, _>>()?;
        Ok(Self { paths })
    }

    /// Whether there is no pattern in it.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether one of them takes this path, as the client sent it, without its query.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.paths.iter().any(|pattern| pattern.matches(path))
    }
}

impl Path {
    fn compile(pattern: &PathPattern) -> Result<Self, RouteError> {
        Ok(match pattern {
            PathPattern::Exact(path) => Self::Exact(path.as_bytes().into()),
            PathPattern::Prefix(path) => Self::Prefix(path.as_bytes().into()),
            PathPattern::Glob(glob) => match glob.strip_prefix("**") {
                Some(suffix) if !suffix.contains(['*', '?']) => Self::Suffix(suffix.as_bytes().into()),
                _ => Self::Glob(Glob::compile(glob).ok_or(RouteError::Glob)?),
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
        let set = PathSet::compile(&patterns).unwrap();
        for path in ["/", "/static", "/static/a", "/a/b.png", "/.png", "/img/a/small"] {
            assert!(set.matches(path.as_bytes()), "{path}");
        }
        for path in ["/a", "/statics", "/a.png/b", "/a.PNG", "/img/a/b/small"] {
            assert!(!set.matches(path.as_bytes()), "{path}");
        }
        assert!(!PathSet::default().matches(b"/"));
        assert!(PathSet::compile(&[glob(&"?".repeat(256))]).is_err());
    }
}
